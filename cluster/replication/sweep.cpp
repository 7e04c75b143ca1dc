#include "cluster/replication/sweep.h"

#include <algorithm>
#include <limits>

namespace quipu {
namespace {

constexpr Duration kRound = std::chrono::seconds(10);  // for all partitions
constexpr Duration kScan = std::chrono::hours(1);      // for all leaves
constexpr std::size_t kAllLeaves = kPartitions * kLeaves;
constexpr std::size_t kLeavesAtOnce = 1024;
// Before digests are compared. What is due beyond that makes them differ until the next sweep.
constexpr std::size_t kStatesAtOnce = 8192;

}  // namespace

Sweep::Sweep(Instant now, const View& view, Executor& executor, Replicator& replicator,
             const Freshness& freshness, Residency& residency, const NodeSettings& settings)
    : view_(view),
      executor_(executor),
      replicator_(replicator),
      freshness_(freshness),
      residency_(residency),
      at_once_(static_cast<std::size_t>(kPartitions * settings.gossip_interval / kRound) + 1),
      offers_(kPartitions),
      scan_began_(now) {}

void Sweep::on_gossip(Instant now) {
  for (std::size_t i = 0; i < std::min(at_once_, kPartitions); ++i) {
    visit(now, Partition{static_cast<std::uint16_t>(hand_)});
    hand_ = (hand_ + 1) % kPartitions;
  }
  look_again(now);
  scan_slowly(now);
}

void Sweep::before_digests(Instant now) {
  const std::optional<Wall> date = executor_.date(now);
  if (!date) return;
  std::size_t states = 0;
  for (std::size_t p = 0; p < kPartitions && states < kStatesAtOnce; ++p) {
    const Partition partition{static_cast<std::uint16_t>(p)};
    if (executor_.map().due(partition) > *date) continue;
    states += executor_.map().index().size(partition);
    (void)executor_.sweep(partition, {});
  }
}

// Where ends were offered: the owners answer long before the next round.
void Sweep::look_again(Instant now) {
  const std::optional<Wall> date = executor_.date(now);
  const std::set<Partition> offered = offered_;
  std::size_t looks = 0;
  for (const Partition partition : offered) {
    if (looks == at_once_) return;
    if (!date || executor_.map().due(partition) > *date) continue;
    ++looks;
    offered_.erase(partition);
    visit(now, partition);
    if (executor_.map().ledger().spent(partition) > 0) offered_.insert(partition);
  }
}

std::uint64_t Sweep::losses(Partition partition) const {
  std::uint64_t sum = 0;
  for (const MemberIndex owner : view_.owners(partition)) {
    if (owner != view_.self()) sum += replicator_.lost_epoch(owner);
  }
  return sum;
}

// A partition of other owners is dropped as a whole, once they have it.
Executor::Settled Sweep::settled(Instant now, Wall date, Partition partition) const {
  const auto is_away = [this](MemberIndex owner) {
    return owner != view_.self() && !view_.up(owner);
  };
  if (!view_.owned(partition) || std::ranges::any_of(view_.owners(partition), is_away)) return {};
  const Offer& offer = offers_[raw(partition)];
  Executor::Settled settled;
  settled.room = std::numeric_limits<std::size_t>::max();
  settled.lost = offer.losses != losses(partition);
  settled.offered = offer.as_of != Commit{};
  for (const MemberIndex owner : view_.owners(partition)) {
    if (owner == view_.self()) continue;
    settled.offered = settled.offered && replicator_.reached(owner, offer.as_of);
    settled.room = std::min(settled.room, replicator_.room(owner));
  }
  if (const auto age = freshness_.age(now).age)
    settled.heard_until = date - std::chrono::ceil<Wall::duration>(*age);
  return settled;
}

void Sweep::visit(Instant now, Partition partition) {
  const std::optional<Wall> date = executor_.date(now);
  const bool waits = executor_.map().ledger().spent(partition) > 0;
  if (!date || (!waits && executor_.map().due(partition) > *date)) return;
  const ShardList to_offer =
      executor_.sweep(partition, waits ? settled(now, *date, partition) : Executor::Settled{});
  if (to_offer == ShardList{}) return;
  const std::uint64_t before = losses(partition);  // one of these offers may be lost at once
  to_offer.for_each([this](const ShardRef& ref) { replicator_.offer(ref); });
  offers_[raw(partition)] = {executor_.covering(), before};
  offered_.insert(partition);
}

// Whatever a leaf holds that is over is swept once it is in memory.
void Sweep::scan_slowly(Instant now) {
  if (executor_.map().eviction().all_resident() || scanning_) return;
  if (scanned_ == kAllLeaves && now - scan_began_ >= kScan) {
    scan_began_ = now;
    scanned_ = 0;
  }
  const auto due =
      std::min(kAllLeaves, static_cast<std::size_t>((now - scan_began_) / (kScan / kAllLeaves)));
  Needs needs;
  for (; scanned_ < due && needs.leaves.size() < kLeavesAtOnce; ++scanned_) {
    const LeafId leaf{Partition{static_cast<std::uint16_t>(scanned_ / kLeaves)},
                      static_cast<std::uint8_t>(scanned_ % kLeaves)};
    if (!executor_.map().eviction().resident(leaf)) needs.leaves.push_back(leaf);
  }
  if (needs.leaves.empty()) return;
  scanning_ = true;
  residency_.hold(needs, Residency::Turn::first, std::nullopt,
                  [this, leaves = needs.leaves](Instant then) {
                    scanning_ = false;
                    for (const LeafId& leaf : leaves) visit(then, leaf.partition);
                  });
}

}  // namespace quipu
