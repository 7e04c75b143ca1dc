#include "cluster/replication/freshness.h"

#include <algorithm>
#include <limits>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr std::size_t kRememberedBeats = 1024;  // older ones cannot date anything
constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::uint32_t age_in_ms(std::optional<Duration> age) {
  if (!age) return kUnknownAge;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*age).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, kUnknownAge - 1));
}

Freshness::Freshness(const View& view, const Executor& executor, Duration interval)
    : view_(view), executor_(executor), interval_(interval), peers_(view.size()) {}

Heartbeat Freshness::beat(Instant now, MemberIndex to, const Replicator& replicator) {
  QUIPU_CHECK(to != view_.self(), "a node sends its beats to others", to);
  Peer& peer = peers_[to];
  while (due(to, replicator)) {
    peer.covered = std::exchange(peer.marker, 0);
    mark(peer);
  }
  Heartbeat beat{peer.next_heartbeat++, peer.covered, replicator.lost_epoch(to), peer.pulled,
                 view_.full(view_.self())};
  beat.newest = peer.newest;
  const auto held = std::chrono::duration_cast<std::chrono::microseconds>(now - peer.newest_at);
  if (peer.newest != 0)
    beat.held_us = static_cast<std::uint32_t>(std::min<std::int64_t>(held.count(), kMost32));
  peer.sent.push_back({beat.number, now});
  if (peer.sent.size() > kRememberedBeats) peer.sent.pop_front();
  QUIPU_CHECK(peer.covered <= peer.newest, "only a heartbeat that came is covered", to,
              peer.covered, peer.newest);
  return beat;
}

bool Freshness::due(MemberIndex to, const Replicator& replicator) const {
  const Peer& peer = peers_[to];
  return peer.marker != 0 && replicator.reached(to, peer.marker_commit);
}

// What is held now includes what was held when that heartbeat came.
void Freshness::mark(Peer& peer) const {
  if (peer.marker != 0 || peer.newest <= peer.covered) return;
  peer.marker = peer.newest;
  peer.marker_commit = executor_.covering();
  QUIPU_CHECK(peer.marker > peer.covered, "each marker covers more", peer.marker, peer.covered);
}

std::optional<Duration> Freshness::on_heartbeat(Instant now, MemberIndex from,
                                                const Heartbeat& beat) {
  Peer& peer = peers_[from];
  if (beat.number > peer.newest) {
    peer.newest = beat.number;
    peer.newest_at = now;
  }
  mark(peer);
  peer.received = std::max(peer.received, beat.newest);
  peer.lost = std::max(peer.lost, beat.lost_epoch);
  std::optional<Duration> travelled;
  const std::uint64_t oldest = peer.sent.empty() ? 0 : peer.sent.front().number;
  if (beat.newest >= oldest && beat.newest - oldest < peer.sent.size())  // they are consecutive
    travelled = now - peer.sent[beat.newest - oldest].at - std::chrono::microseconds(beat.held_us);
  if (travelled) peer.round_trip = std::max(*travelled, Duration::zero());
  if (needs_pull(from)) return travelled;
  while (!peer.sent.empty() && peer.sent.front().number <= beat.covered) {
    QUIPU_CHECK(!peer.as_of || *peer.as_of <= peer.sent.front().at,
                "what is known of a peer becomes no older", from, beat.covered);
    peer.as_of = peer.sent.front().at;
    peer.sent.pop_front();
  }
  return travelled;
}

// Covered states stay covered: as_of is ours. Our numbers continue, so that the peer's answers
// to heartbeats of an earlier link do not make anything younger.
void Freshness::on_link_up(MemberIndex member) {
  Peer anew;
  anew.as_of = peers_[member].as_of;
  anew.next_heartbeat = peers_[member].next_heartbeat;
  peers_[member] = std::move(anew);
}

void Freshness::on_replaced(MemberIndex member) {
  const std::optional<Instant> as_of = peers_[member].as_of;
  for (Peer& peer : peers_) {
    peer.pulled = 0;
    peer.as_of = std::min(peer.as_of, as_of);
  }
}

void Freshness::on_gossip(Instant now) {
  if (executor_.covering() <= durable_) {
    durable_until_ = now;
  } else if (!not_yet_) {
    not_yet_ = {now, executor_.covering()};
  }
}

void Freshness::on_durable(Instant now, Commit durable) {
  durable_ = durable;
  if (not_yet_ && not_yet_->second <= durable) durable_until_ = std::exchange(not_yet_, {})->first;
  on_gossip(now);
}

std::optional<Duration> Freshness::age_of(Instant now, MemberIndex member) const {
  if (!peers_[member].as_of) return std::nullopt;
  QUIPU_CHECK(*peers_[member].as_of <= now, "a peer's age is not negative", member);
  return now - *peers_[member].as_of;
}

Age Freshness::age(Instant now) const {
  Age worst{Duration::zero(), true};
  for (MemberIndex member = 0; member < peers_.size(); ++member) {
    if (member == view_.self() || view_.config().members[member].weight == 0) continue;
    const auto one = age_of(now, member);
    if (!one) return {};
    worst.age = std::max(*worst.age, *one);
  }
  worst.complete = *worst.age <= kCompleteIntervals * interval_;
  return worst;
}

}  // namespace quipu
