// shard_number.h: what the number of a shard says: window:1 | kind:5 | index:10.
//
// The kind is part of a shard's name, so nodes need not agree about the kind of a key, and no
// merge meets two kinds. All shards of the kinds beside the sum have the partition of the key's
// first shard (keyed_hash.h): one node may change them together.
#pragma once

#include <algorithm>

#include "protocol/ids.h"
#include "quipu/kind.h"

namespace quipu {

inline constexpr ShardIndex kWindow = 0x8000;
inline constexpr unsigned kIndexBits = 10;
static_assert(kMaxShards == 1u << kIndexBits);

[[nodiscard]] constexpr bool is_window(ShardIndex shard) { return (shard & kWindow) != 0; }
[[nodiscard]] constexpr Kind kind_of(ShardIndex shard) {
  return static_cast<Kind>((shard & ~unsigned{kWindow}) >> kIndexBits);
}
[[nodiscard]] constexpr bool is_sum(ShardIndex shard) { return kind_of(shard) == Kind::sum; }
[[nodiscard]] constexpr ShardIndex index_of(ShardIndex shard) {
  return static_cast<ShardIndex>(shard & (kMaxShards - 1));
}
[[nodiscard]] constexpr ShardIndex shard_of(Kind kind, ShardIndex index = 0) {
  return static_cast<ShardIndex>(static_cast<unsigned>(kind) << kIndexBits | index);
}
// The first shard of a counter: the one that shows whether the counter exists.
[[nodiscard]] constexpr bool is_first(ShardIndex shard) {
  return (shard & (kWindow | (kMaxShards - 1))) == 0;
}
// The first shard of the same counter, or of its window.
[[nodiscard]] constexpr ShardIndex first_of(ShardIndex shard) {
  return static_cast<ShardIndex>(shard & ~(kMaxShards - 1));
}
// Whether this build knows it. (What comes from a later one is refused.)
[[nodiscard]] constexpr bool is_known(Kind kind) {
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

}  // namespace quipu
