// actor_watch.h: whether each node keeps the actor under which it counted, while it runs and no
// disk loses anything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"

namespace quipu::sim {

class ActorWatch {
 public:
  // Both must outlive it.
  ActorWatch(const std::vector<SimNode*>& nodes, const Ledger& ledger)
      : nodes_(nodes), ledger_(ledger), counted_(nodes.size()) {}

  // That node has just executed an add of the partition.
  void on_counted(const SimNode& node, Partition partition) {
    if (node.core()->executor().has_actor(partition))
      counted_[node.member()] = {node.incarnation(), partition};
  }

  // Nothing, or a node that has given up its actor.
  [[nodiscard]] std::string who_gave_up() {
    for (const SimNode* node : nodes_) {
      auto& counted = counted_[node->member()];
      if (!counted || !node->running() || node->incarnation() != counted->incarnation ||
          ledger_.disks_lost_since(Instant::min()) > 0)
        counted.reset();
      if (counted && !node->core()->executor().has_actor(counted->partition))
        return node->name() + " gave up the actor under which it counted in partition " +
               std::to_string(raw(counted->partition));
    }
    return {};
  }

 private:
  struct Counted {
    std::uint64_t incarnation;
    Partition partition;
  };
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  std::vector<std::optional<Counted>> counted_;  // by node: the last
};

}  // namespace quipu::sim
