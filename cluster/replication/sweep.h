// sweep.h: ends and forgets counters whose time has come.
//
//   in force ──deadline──▶ realized: spent ──▶ forgotten, in memory and at rest
//
// What may be forgotten (storage/life.h has the words):
//   by time       every copy anywhere carries its own end (not `once`), and the latest of these
//                 has passed, and kLifeGrace behind it
//   by stability  all other owners have acknowledged the spent state, which this sweep offers them;
//                 and everything that any member did up to kLifeGrace behind the end has come here,
//                 so members that own nothing have handed over what they held
//
// Each partition is visited once in 10 s, if something there is due. Of what is in
// the store alone nobody knows what is due: a slow scan brings all of it to memory, once an hour.
#pragma once

#include <set>
#include <vector>

#include "cluster/gates/residency.h"
#include "cluster/membership/view.h"
#include "cluster/replication/freshness.h"
#include "cluster/replication/replicator.h"

namespace quipu {

class Sweep {
 public:
  // All must outlive it.
  Sweep(Instant now, const View& view, Executor& executor, Replicator& replicator,
        const Freshness& freshness, Residency& residency, const NodeSettings& settings);

  // Once per gossip interval.
  void on_gossip(Instant now);
  // Owners whose clocks agree should compute the same digests: call it before they are compared.
  void before_digests(Instant now);

 private:
  struct Offer {
    Commit as_of{};            // what was offered is in an outbox of each owner since then
    std::uint64_t losses = 0;  // of these outboxes, up to then
  };
  void visit(Instant now, Partition partition);
  [[nodiscard]] Executor::Settled settled(Instant now, Wall date, Partition partition) const;
  [[nodiscard]] std::uint64_t losses(Partition partition) const;
  void look_again(Instant now);
  void scan_slowly(Instant now);

  const View& view_;
  Executor& executor_;
  Replicator& replicator_;
  const Freshness& freshness_;
  Residency& residency_;
  const std::size_t at_once_;    // partitions at each gossip
  std::vector<Offer> offers_;    // by partition: the last one
  std::set<Partition> offered_;  // partitions with something that was offered
  std::size_t hand_ = 0;         // the next partition
  Instant scan_began_;
  std::size_t scanned_ = 0;  // leaves, since then
  bool scanning_ = false;    // some are on their way from the store
};

}  // namespace quipu
