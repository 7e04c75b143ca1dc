// placed_shard.h: a shard by its name and its place, whose hash is computed once.
//
// What hash tables of shards are keyed by. Clients know the key that places are computed with,
// so a table scatters them once more, by a secret of this process: nobody can aim at one
// bucket. Nothing that leaves the node may depend on a table's order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu {

// Borrows the name.
struct PlacedRef {
  ShardRef shard;
  Placement placement;
};

struct PlacedShard {
  ShardKey shard;
  Placement placement;
  explicit PlacedShard(const PlacedRef& of)
      : shard{std::string(of.shard.key), of.shard.shard}, placement(of.placement) {}
  operator PlacedRef() const { return {shard, placement}; }
};

[[nodiscard]] inline bool operator==(const PlacedRef& a, const PlacedRef& b) {
  return a.placement.hash == b.placement.hash && a.shard == b.shard;
}

// 48 bits. REQUIRES: the secret is odd.
[[nodiscard]] inline std::uint64_t scattered(const Placement& placement, std::uint64_t secret) {
  return placement.hash * secret >> 16;
}

struct PlacedHash {
  using is_transparent = void;
  std::uint64_t secret;
  std::size_t operator()(const PlacedRef& one) const noexcept {
    return scattered(one.placement, secret);
  }
};

}  // namespace quipu
