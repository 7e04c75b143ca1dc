// freshness.h: how old this node's view is, without comparing clocks.
//
//   we: heartbeat k ──▶ peer: "when k came, I held X" ──▶ we have acked all of X
//                                peer: covered = k ──▶ our view is as old as heartbeat k
//
// Every gossip interval each side sends a heartbeat. The peer answers `covered = k` once we
// have acked everything that it held when our heartbeat k arrived, and nothing of it awaits
// repair. We sent k earlier than that. So our knowledge of this peer is no older than our
// sending of k, on our own clock. No clocks are compared.
//
// Beside that, each heartbeat says which heartbeat of the receiver came last, and how long ago.
// This tells how long a message and its answer take.
//
// Age = now − the oldest such moment over all members that may execute adds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/replication/replicator.h"
#include "protocol/check.h"
#include "protocol/instant.h"

namespace quipu {

// A total is complete if no member has been silent for longer.
inline constexpr int kCompleteIntervals = 3;

struct Age {
  std::optional<Duration> age;  // none: some member was never heard
  bool complete = false;        // all within three intervals
};

// As messages carry an age: none becomes kUnknownAge, and no age is below 0.
[[nodiscard]] std::uint32_t age_in_ms(std::optional<Duration> age);

class Freshness {
 public:
  Freshness(const View& view, const Executor& executor, Duration interval);

  // The next heartbeat to a member.
  [[nodiscard]] Heartbeat beat(Instant now, MemberIndex to, const Replicator& replicator);
  // Send a heartbeat without waiting for the interval: this node has just reached what the
  // peer's last one asked for.
  [[nodiscard]] bool due(MemberIndex to, const Replicator& replicator) const;
  // Returns how long ours and this one travelled, if it tells.
  std::optional<Duration> on_heartbeat(Instant now, MemberIndex from, const Heartbeat& beat);
  // The number of the next heartbeat to that member, and of the newest that it has received over
  // this link.
  [[nodiscard]] std::uint64_t next_number(MemberIndex member) const {
    return peers_[member].next_heartbeat;
  }
  [[nodiscard]] std::uint64_t received(MemberIndex member) const { return peers_[member].received; }
  // A new link starts again: heartbeats and repairs of earlier links do not count.
  void on_link_up(MemberIndex member);
  // The new store does not know what the old one owed us, but other members may have got it. So
  // our view of them is no younger than it was of the old store, until each was pulled.
  void on_replaced(MemberIndex member);

  // What a finished repair reports to the peer.
  void set_pulled(MemberIndex member, std::uint64_t epoch) {
    QUIPU_CHECK(epoch <= peers_[member].lost, "no more is repaired than was lost", member, epoch,
                peers_[member].lost);
    peers_[member].pulled = epoch;
  }
  // The peer lost its outbox to us more often than we repaired.
  [[nodiscard]] bool needs_pull(MemberIndex member) const {
    return peers_[member].pulled < peers_[member].lost;
  }
  [[nodiscard]] std::uint64_t lost_epoch(MemberIndex member) const { return peers_[member].lost; }

  // How long ago everything that this node did itself is durable here.
  void on_gossip(Instant now);
  void on_durable(Instant now, Commit durable);
  [[nodiscard]] Instant durable_until(Instant now) const {
    return executor_.covering() <= durable_ ? now : durable_until_;
  }

  [[nodiscard]] Age age(Instant now) const;
  // How long the last heartbeat that told it, and the one that it answers, travelled together.
  [[nodiscard]] std::optional<Duration> round_trip(MemberIndex member) const {
    return peers_[member].round_trip;
  }
  [[nodiscard]] std::optional<Duration> age_of(Instant now, MemberIndex member) const;

 private:
  struct Sent {
    std::uint64_t number;
    Instant at;
  };
  struct Peer {
    // what we sent
    std::uint64_t next_heartbeat = 1;
    std::deque<Sent> sent;
    std::uint64_t received = 0;
    std::optional<Instant> as_of;
    std::optional<Duration> round_trip;
    // what they sent
    std::uint64_t newest = 0;  // their heartbeat's number
    Instant newest_at{};       // when it came
    std::uint64_t lost = 1;    // losses of their outbox to us
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
  Commit durable_{};
  Instant durable_until_{};
  std::optional<std::pair<Instant, Commit>> not_yet_;  // what was done until then is in that record
};

}  // namespace quipu
