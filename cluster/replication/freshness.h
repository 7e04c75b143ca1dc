// freshness.h: how old this node's view is, without comparing clocks.
//
//   we: beat k ──▶ peer: "when k came, I held X" ──▶ we have acked all of X
//                                     peer: covered = k ──▶ we: as old as beat k
//
// Every gossip interval each side sends a beat. The peer answers `covered = k`
// once all that it held when our beat k arrived was acked by us and nothing of it
// awaits repair. We sent k earlier than that, so what we know of this peer is no
// older than our own sending of k, on our own clock. No time crosses nodes.
//
// Age = now − the oldest such moment over all members that may execute adds.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "cluster/replication/replicator.h"
#include "protocol/instant.h"

namespace quipu {

// A total is complete if nobody has been silent for longer.
inline constexpr int kCompleteIntervals = 3;

struct Age {
  std::optional<Duration> age;  // none: some member was never heard
  bool complete = false;        // all within three intervals
};

class Freshness {
 public:
  Freshness(const View& view, const Executor& executor, Duration interval);

  // The beat to send to a member now.
  [[nodiscard]] Beat beat(Instant now, MemberIndex to, const Replicator& replicator);
  // A beat need not wait for the interval: what the last one from there asked for
  // has just been reached.
  [[nodiscard]] bool due(MemberIndex to, const Replicator& replicator) const;
  void on_beat(MemberIndex from, const Beat& beat);
  // A new link begins anew: neither beats nor repairs of an earlier one count.
  void on_link_up(MemberIndex member);
  // Its new store knows nothing of what the old one owed us, but others may have been told.
  // So what we know of them is no younger than it was of the old store, until each was pulled.
  void on_replaced(MemberIndex member);

  // What a finished repair tells the peer.
  void set_pulled(MemberIndex member, std::uint64_t epoch) { peers_[member].pulled = epoch; }
  // The peer lost its outbox to us more often than we repaired.
  [[nodiscard]] bool needs_pull(MemberIndex member) const {
    return peers_[member].pulled < peers_[member].lost;
  }
  [[nodiscard]] std::uint64_t lost_epoch(MemberIndex member) const { return peers_[member].lost; }

  [[nodiscard]] Age age(Instant now) const;
  [[nodiscard]] std::optional<Duration> age_of(Instant now, MemberIndex member) const;

 private:
  struct Sent {
    std::uint64_t number;
    Instant at;
  };
  struct Peer {
    // what we said
    std::uint64_t next_beat = 1;
    std::deque<Sent> sent;
    std::optional<Instant> as_of;
    // what they said
    std::uint64_t newest = 0;  // their beat number
    std::uint64_t lost = 1;    // their outbox to us
    std::uint64_t pulled = 0;
    // what we owe them: covered = marker, once they have all up to its commit
    std::uint64_t marker = 0;  // 0: none
    Commit marker_commit{};
    std::uint64_t covered = 0;
  };

  void mark(Peer& peer) const;

  const View& view_;
  const Executor& executor_;
  Duration interval_;
  std::vector<Peer> peers_;
};

}  // namespace quipu
