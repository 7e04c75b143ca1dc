// placed_shard.h: a shard by its name and its place, whose hash is computed once.
//
// What hash tables of shards are keyed by. The hash is keyed (keyed_hash.h), so nobody can
// aim at one bucket; nothing that leaves the node may depend on a table's order.
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

struct PlacedHash {
  using is_transparent = void;
  std::size_t operator()(const PlacedRef& one) const noexcept { return one.placement.hash; }
};
struct SamePlaced {
  using is_transparent = void;
  bool operator()(const PlacedRef& a, const PlacedRef& b) const { return a == b; }
};

}  // namespace quipu
