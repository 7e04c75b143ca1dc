#include "protocol/keyed_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

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

// The index changes the seed, so that a counter's shards land independently.
Placement::Placement(HashKey key, const ShardRef& shard)
    : hash(hash64(HashKey{raw(key) ^ (shard.shard * 0x9e3779b97f4a7c15U)}, shard.key)) {}

}  // namespace quipu
