// placed_shard.h: a shard by name and place, so that its hash is computed once.
#pragma once

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

}  // namespace quipu
