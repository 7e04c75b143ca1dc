// replicator.h: the one path on which changes made here reach the other owners.
//
//   sealed record ──▶ outboxes ──delta frame──▶ peer: merge, record, sync
//                        ▲                          │
//                        └────────── ack ───────────┘──▶ quorum waits
//
// Frames hold sealed states only, and leave when these are durable. An add is never replicated
// as an add, only as the resulting state. So a frame that arrives twice, late or out of order
// changes nothing.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/gates/residency.h"
#include "cluster/membership/view.h"
#include "cluster/replication/outbox.h"
#include "cluster/replication/quorum_waits.h"
#include "storage/kinds/units.h"

namespace quipu {

class Replicator {
 public:
  // All must outlive it.
  Replicator(const View& view, Executor& executor, Outbound& out, QuorumWaits& waits,
             Residency& residency, const NodeSettings& settings);

  // A record was sealed: its local changes go to the owners.
  void on_sealed(const Sealed& sealed);
  // The owners must have this shard's state, or these units of it, even if it did not change now.
  void offer(const ShardRef& ref, const Units* units = nullptr);

  // Sends what may be sent. `urgent`: only if an operation waits for it.
  enum class Flush { urgent, all };
  void flush(Flush what);

  void on_frame(MemberIndex from, const DeltaFrame& frame);
  void on_ack(MemberIndex from, const DeltaAck& ack);
  // Everything awaits repair there again.
  void on_link_up(MemberIndex member);
  // Config or pins changed, or this is a start: earlier acks do not count.
  void on_fence_changed();

  // Drops partitions that this node does not own, once every owner has all of them.
  void drop_settled_foreign();

  // ---- questions of Freshness ----
  // Whether the member has everything that was held here at that commit.
  [[nodiscard]] bool reached(MemberIndex member, Commit commit) const;
  // For how many more shards its outbox has room, of those that can wait.
  [[nodiscard]] std::size_t room(MemberIndex member) const { return peers_[member].outbox.room(); }
  [[nodiscard]] std::uint64_t lost_epoch(MemberIndex member) const {
    return peers_[member].lost_epoch;
  }
  // The member has repaired what it missed by this many losses of its outbox.
  void on_pulled(MemberIndex member, std::uint64_t epoch) { peers_[member].pulled_epoch = epoch; }

  [[nodiscard]] std::size_t outbox_size(MemberIndex member) const {
    return peers_[member].outbox.size();
  }
  // The members that are not known to have everything, up or not.
  [[nodiscard]] std::vector<MemberIndex> behind() const;
  // None of them is up, but for those that are being filled or full, and have all that was sent.
  [[nodiscard]] bool drained() const;
  struct Counts {
    std::uint64_t frames_sent = 0, frames_merged = 0, outboxes_lost = 0, partitions_dropped = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  struct PeerCounts {
    std::uint64_t frames_sent = 0, frames_merged = 0, outboxes_lost = 0;
  };
  [[nodiscard]] const PeerCounts& counts(MemberIndex member) const { return peers_[member].counts; }

 private:
  struct Peer {
    Outbox outbox;
    bool urgent = false;
    bool loading = false;            // the store reads the states of its next frame
    std::uint64_t lost_epoch = 1;    // how often its outbox was lost; the start is once
    std::uint64_t pulled_epoch = 0;  // losses that it has repaired, on this link
    PeerCounts counts{};
  };

  void offer_foreign();
  void prefetch(const Placement& placement) const;
  void push(MemberIndex member, const PlacedRef& shard, Commit since, const Units* units = nullptr);
  // `urgent()` is called only if it makes a difference.
  template <class Urgent>
  void push_to_owners(const PlacedRef& shard, Commit since, const Units* units, Urgent urgent);
  void send_frames(MemberIndex member);
  [[nodiscard]] std::size_t show(const Peer& peer, Delta& delta) const;
  bool bring_back(MemberIndex member);
  [[nodiscard]] bool settled(Partition partition) const;

  const View& view_;
  Executor& executor_;
  Outbound& out_;
  QuorumWaits& waits_;
  Residency& residency_;
  const NodeSettings& settings_;
  std::vector<Peer> peers_;
  std::set<Partition> foreign_;  // held here, owned by other members
  Commit queued_;                // records up to it went to the outboxes
  Counts counts_;
};

}  // namespace quipu
