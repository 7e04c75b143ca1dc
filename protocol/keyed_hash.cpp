#include "protocol/keyed_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "protocol/window.h"

namespace quipu {

std::uint64_t hash64(HashKey key, std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), raw(key));
}

Hash128 hash128(HashKey key, std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), raw(key));
  return {hash.low64, hash.high64};
}

Hash128& Hash128::operator+=(const Hash128& other) {
  low += other.low;
  high += other.high + (low < other.low ? 1 : 0);
  return *this;
}

Hash128& Hash128::operator-=(const Hash128& other) {
  high -= other.high + (low < other.low ? 1 : 0);
  low -= other.low;
  return *this;
}

namespace {

// The index changes the seed, so that a counter's shards land independently.
HashKey seed_of(HashKey key, ShardIndex shard) {
  return HashKey{raw(key) ^ (shard * 0x9e3779b97f4a7c15U)};
}

// A window has the partition of its counter's shard, and a leaf of its own. So has each shard of a
// kind beside the sum that of the key's first shard: one record changes a counter and its slices.
std::uint64_t in_partition_of(std::uint64_t counter, std::uint64_t other) {
  constexpr std::uint64_t kRest = (std::uint64_t{1} << 52) - 1;
  return (counter & ~kRest) | (other & kRest);
}

[[gnu::noinline]] void place_apart(Placement& placement, HashKey key, const ShardRef& name) {
  if (is_window(name.shard)) {
    const Window window = window_of(name);
    placement = Placement(Placement(key, {window.key, window.shard}), key, name);
  } else {
    placement = Placement(Placement(key, {name.key, 0}), key, name);
  }
}

}  // namespace

Placement::Placement(HashKey key, const ShardRef& shard) {
  if (shard.shard >= kMaxShards) [[unlikely]] {
    place_apart(*this, key, shard);
    return;
  }
  hash = XXH3_64bits_withSeed(shard.key.data(), shard.key.size(), raw(seed_of(key, shard.shard)));
}

Placement::Placement(const Placement& counter, HashKey key, const ShardRef& other)
    : hash(in_partition_of(counter.hash, hash64(seed_of(key, other.shard), other.key))) {}

}  // namespace quipu
