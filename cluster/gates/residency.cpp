#include "cluster/gates/residency.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

// To make room, an event looks at this many partitions and entries at most, and at some more
// for each entry that it added. Otherwise memory would grow with the size of events.
constexpr std::size_t kLooksPerEvent = 256;
constexpr std::size_t kLooksPerInserted = 4;
// About how much memory any held event takes, besides the names in it.
constexpr std::size_t kHeldBytes = 512;

template <class T>
void sort_unique(std::vector<T>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

bool is_resident(const ShardMap& map, const ShardKey& shard) {
  return map.resident(map.place(shard), shard);
}

}  // namespace

bool Residency::resident(const Needs& needs) const {
  const ShardMap& map = executor_.map();
  return std::all_of(needs.shards.begin(), needs.shards.end(),
                     [&](const ShardKey& shard) { return is_resident(map, shard); }) &&
         std::all_of(needs.leaves.begin(), needs.leaves.end(),
                     [&](LeafId leaf) { return map.eviction().resident(leaf); });
}

void Residency::hold(Needs needs, Turn turn, std::optional<MemberIndex> from, Then then) {
  const ShardMap& map = executor_.map();
  if (turn == Turn::first) {
    std::erase_if(needs.shards, [&](const ShardKey& shard) { return is_resident(map, shard); });
    std::erase_if(needs.leaves, [&](LeafId leaf) { return map.eviction().resident(leaf); });
  }
  QUIPU_CHECK(!needs.shards.empty() || !needs.leaves.empty(),
              "what is held waits for a shard or a leaf", needs.bytes);
  needs.bytes += kHeldBytes;
  held_bytes_ += needs.bytes;
  Held held{from, needs.bytes, std::move(then)};
  if (under_way(needs)) {
    held_.push_back(std::move(held));
    return;
  }
  held_for_next_.push_back(std::move(held));
  next_.shards.insert(next_.shards.end(), std::make_move_iterator(needs.shards.begin()),
                      std::make_move_iterator(needs.shards.end()));
  next_.leaves.insert(next_.leaves.end(), needs.leaves.begin(), needs.leaves.end());
}

// Whether the current load brings all of it.
bool Residency::under_way(const Needs& needs) const {
  if (!loading_) return false;
  const auto brings_leaf = [this](LeafId leaf) {
    return std::binary_search(asked_.leaves.begin(), asked_.leaves.end(), leaf);
  };
  const auto brings = [&](const ShardKey& shard) {
    const Placement placement = executor_.map().place(shard);
    return std::binary_search(asked_.shards.begin(), asked_.shards.end(), shard) ||
           brings_leaf({placement.partition(), placement.leaf()});
  };
  return std::all_of(needs.shards.begin(), needs.shards.end(), brings) &&
         std::all_of(needs.leaves.begin(), needs.leaves.end(), brings_leaf);
}

void Residency::on_link_lost(MemberIndex member) {
  const auto lost = [&](const Held& held) {
    if (held.from != member) return false;
    QUIPU_CHECK(held.bytes <= held_bytes_, "what is dropped was counted", held.bytes, held_bytes_);
    held_bytes_ -= held.bytes;
    return true;
  };
  std::erase_if(held_, lost);
  std::erase_if(held_for_next_, lost);
}

void Residency::on_loaded(Instant now, const Loaded& loaded) {
  if (!loading_ || loaded.number != number_) return;
  QUIPU_CHECK(
      loaded.shards.size() >= asked_.shards.size() && loaded.leaves.size() == asked_.leaves.size(),
      "a load brings all that was asked for", loaded.shards.size(), asked_.shards.size(),
      loaded.leaves.size(), asked_.leaves.size());
  loading_ = false;
  executor_.restore(loaded);
  shards_loaded_ += loaded.shards.size();
  for (const Held& held : std::exchange(held_, {})) {
    QUIPU_CHECK(held.bytes <= held_bytes_, "a resumed event's bytes were counted", held.bytes,
                held_bytes_);
    held_bytes_ -= held.bytes;
    held.then(now);
  }
  QUIPU_CHECK(held_.empty(), "nothing is held for a load that has come", number_);
}

void Residency::finish_event(Commit durable, Effects& effects) {
  if (!loading_) ask(durable, effects);
  if (executor_.map().eviction().crowded()) make_room(durable);
  inserted_ = executor_.map().index().inserted();
}

void Residency::ask(Commit durable, Effects& effects) {
  asked_at_ = durable;
  if (held_for_next_.empty()) return;
  QUIPU_CHECK(held_.empty(), "one load is under way at a time", number_);
  loading_ = true;
  asked_ = std::exchange(next_, {});
  asked_.number = ++number_;
  sort_unique(asked_.shards);
  sort_unique(asked_.leaves);
  held_ = std::exchange(held_for_next_, {});
  effects.load = asked_;
}

void Residency::make_room(Commit durable) {
  const ShardMap& map = executor_.map();
  const Commit safe = std::min(durable, asked_at_);
  QUIPU_CHECK(safe <= executor_.sealed(), "what is evicted is in the store, and in the next load",
              safe, executor_.sealed());
  const std::size_t inserted = map.index().inserted() - inserted_;
  const std::size_t most = kLooksPerEvent + kLooksPerInserted * inserted;
  std::size_t looked = 0;
  for (std::size_t i = 0; i < kPartitions && looked < most; ++i) {
    const Partition partition{static_cast<std::uint16_t>(hand_++ % kPartitions)};
    looked += 1;
    if (!map.index().occupied().contains(partition)) continue;
    looked += map.index().size(partition);
    executor_.evict(partition, safe);
    if (!map.eviction().crowded()) return;
  }
}

}  // namespace quipu
