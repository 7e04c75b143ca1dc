// replica.h: answers members' questions about the states held here.
//
// Every answer has sealed states and leaves when they are durable. At that moment it is judged
// whether it may count for a quorum (Outbound::reply).
#pragma once

#include <algorithm>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "cluster/replication/freshness.h"
#include "cluster/replication/replicator.h"

namespace quipu {

// An answer to a pull stops beyond this, or earlier if the settings say so.
inline constexpr std::size_t kPullBytes = std::size_t{256} << 10;

class Replica {
 public:
  // All must outlive it.
  Replica(const View& view, Executor& executor, Outbound& out, Replicator& replicator,
          const Freshness& freshness, const NodeSettings& settings)
      : view_(view),
        executor_(executor),
        out_(out),
        replicator_(replicator),
        freshness_(freshness),
        answer_bytes_(std::min(settings.repair_answer_bytes, kPullBytes)) {}

  void on_collect(Instant now, MemberIndex from, const Collect& ask);
  void on_write_back(MemberIndex from, const WriteBack& write);
  void on_pull(MemberIndex from, const Pull& pull);

  // The digest of everything that two members may pull from each other: see PullKind::root.
  [[nodiscard]] static Hash128 shared_root(const View& view, const ShardMap& map, MemberIndex a,
                                           MemberIndex b);

 private:
  void pull_root(MemberIndex from, Pulled& answer) const;
  void pull_partitions(MemberIndex from, const Pull& pull, Pulled& answer) const;
  void pull_leaves(const Pull& pull, Pulled& answer) const;
  void pull_keys(const Pull& pull, Pulled& answer) const;
  void pull_states(const Pull& pull, Pulled& answer) const;

  const View& view_;
  Executor& executor_;
  Outbound& out_;
  Replicator& replicator_;
  const Freshness& freshness_;
  std::size_t answer_bytes_;
};

// A root, or a first look, costs a hash per dirty entry. With more dirty entries than this, it
// would stall the node, and the asker compares ranges of partitions instead.
inline constexpr std::size_t kDirtyForRoot = 65'536;
inline constexpr std::size_t kPartitionsPerPull = 256;
inline constexpr std::size_t kLeafPartitionsPerPull = 64;
inline constexpr std::size_t kLeavesPerPull = 512;
inline constexpr std::size_t kStatesPerPull = 1024;

}  // namespace quipu
