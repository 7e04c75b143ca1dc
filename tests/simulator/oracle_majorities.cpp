// What strong reads would show at this moment, whoever answers them.
#include <algorithm>
#include <bit>
#include <set>

#include "tests/simulator/oracle.h"
#include "tests/simulator/reference.h"

namespace quipu::sim {
namespace {

std::uint32_t digits(Wide sum, bool negative) {
  const auto magnitude = static_cast<std::uint64_t>(negative ? -sum : sum);
  std::uint32_t bits = 0;
  for (std::size_t digit = 0; digit < 32; ++digit)
    bits |= (magnitude >> (2 * digit) & 3) != 0 ? 1U << digit : 0;
  return bits;
}

}  // namespace

// What a majority may answer about one shard to nodes with the same fence.
struct Oracle::Answers {
  bool possible = false;
  std::uint32_t always = ~0U, ever = 0;
  ShardIndex least_count = kShards, most_count = 1;
};

Oracle::Answers Oracle::answers(const ShardKey& shard, bool negative, Fence fence) const {
  std::vector<const ShardState*> states;
  states.reserve(config_.owners.replication());
  const Partition partition = this->partition(shard);
  for (const MemberIndex owner : config_.owners.of(partition)) {
    if (votes_by_(owner, partition) != fence) continue;
    states.push_back(&durable(owner, shard));
  }
  Answers told;
  const std::size_t majority = config_.owners.majority();
  const bool differ = std::ranges::any_of(
      states, [&](const ShardState* state) { return *state != *states.front(); });
  for (std::uint32_t who = 0; who < 1U << states.size(); ++who) {
    if (static_cast<std::size_t>(std::popcount(who)) != majority) continue;
    ShardState joined;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if ((who >> i & 1) != 0) (void)reference::join(joined, *states[i]);
    }
    const std::uint32_t shown = digits(reference::total(joined), negative);
    told.possible = true;
    told.always &= shown;
    told.ever |= shown;
    told.least_count = std::min(told.least_count, joined.shard_count);
    told.most_count = std::max(told.most_count, joined.shard_count);
    if (!differ) break;
  }
  return told;
}

Instant Oracle::changed(const std::string& key) const {
  const Copies* const copies = this->copies(key);
  return copies == nullptr ? disk_lost_ : std::max(disk_lost_, copies->changed);
}

Oracle::Votes Oracle::votes(const std::string& key) const {
  ShardIndex shards = 1;
  if (const Copies* const copies = this->copies(key)) {
    for (const std::vector<ShardState>& states : copies->on)
      shards = std::max(shards, states.empty() ? shards : states.front().shard_count);
  }
  Votes votes;
  votes.reserve(shards * config_.owners.replication());
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    const Partition partition = this->partition({key, shard});
    for (const MemberIndex owner : config_.owners.of(partition))
      votes.push_back(votes_by_(owner, partition));
  }
  return votes;
}

Oracle::Readable Oracle::readable(const std::string& key, bool negative) const {
  std::set<Fence> fences;
  const Partition first_of = partition({key, 0});
  for (const MemberIndex owner : config_.owners.of(first_of)) {
    if (const auto fence = votes_by_(owner, first_of)) fences.insert(*fence);
  }
  Readable readable;
  for (const Fence fence : fences) {
    const Answers first = answers({key, 0}, negative, fence);
    if (!first.possible) continue;
    Readable sum{first.always, first.ever};
    bool possible = true;
    for (ShardIndex shard = 1; possible && shard < first.most_count; ++shard) {
      const Answers more = answers({key, shard}, negative, fence);
      possible = more.possible;
      if (shard < first.least_count) sum.always |= more.always;
      sum.ever |= more.ever;
    }
    if (!possible) continue;
    readable.always &= sum.always;
    readable.ever |= sum.ever;
  }
  return readable;
}

std::uint32_t Oracle::shown_by_all(const std::string& key, bool negative) const {
  const Copies* const copies = this->copies(key);
  if (copies == nullptr) return 0;
  ShardIndex shards = kShards;
  for (const MemberIndex owner : config_.owners.of(partition({key, 0})))
    shards = std::min(shards, durable(owner, {key, 0}).shard_count);
  std::uint32_t shown = 0;
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    std::uint32_t by_all = ~0U;
    for (const MemberIndex owner : config_.owners.of(partition({key, shard})))
      by_all &= digits(reference::total(durable(owner, {key, shard})), negative);
    shown |= by_all;
  }
  return shown;
}

}  // namespace quipu::sim
