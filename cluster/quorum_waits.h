// quorum_waits.h: adds and resets that are durable here and wait until a majority
// of their shard's owners has them too.
//
// An owner's ack counts if it is for a state at least as new as the change, if
// the owner goes by the same config and pins, and if its copy counts. This node
// counts itself only if it is an owner, and by the same rules.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "cluster/outbound.h"
#include "cluster/view.h"
#include "protocol/instant.h"

namespace quipu {

class QuorumWaits {
 public:
  QuorumWaits(const View& view, Outbound& out) : view_(view), out_(out) {}

  void wait(ShardKey shard, Partition partition, Commit commit, const Origin& origin, Done done, Instant deadline);

  // `owner` has the shard's state as of `commit`, durably.
  void on_held(ShardRef shard, MemberIndex owner, Commit commit);
  // This node's own copies up to `commit` are durable.
  void on_durable(Commit commit);

  // No ack that came before counts any more. Returns the shards to be sent again.
  [[nodiscard]] std::vector<ShardKey> restart();
  void on_tick(Instant now);

  [[nodiscard]] bool waits_for(const ShardKey& shard) const { return waits_.contains(shard); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Wait {
    Commit commit{};
    Partition partition{};
    Origin origin;
    Done done;
    Instant deadline{};
    std::uint64_t holders = 0;  // bits: positions in the owner list
  };

  void hold(std::vector<Wait>& waits, MemberIndex owner, Commit commit);
  [[nodiscard]] bool met(const Wait& wait) const;

  const View& view_;
  Outbound& out_;
  std::map<ShardKey, std::vector<Wait>> waits_;
  std::size_t size_ = 0;
  Commit durable_{};
  std::deque<std::pair<Commit, ShardKey>> own_;  // not durable here yet, ascending
};

}  // namespace quipu
