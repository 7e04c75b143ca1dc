// rollup_cache.h: totals of shards that other members own.
#pragma once

#include <optional>

#include "cluster/reads/asked_cache.h"
#include "protocol/instant.h"
#include "storage/lattice.h"

namespace quipu {

// The contribution of one shard to a read.
struct Piece {
  Total total;
  ShardIndex shard_count = 1;
  ShardIndex usable_shards = 1;
  bool missing = false;  // no live owner
  Instant as_of{};       // age = now − as_of; meaningless if age_unknown
  bool age_unknown = false;
  bool complete = true;
  Wall ends{};                       // when it counts no more; Wall{}: never
  std::optional<OtherKind> other{};  // it does not exist, but its key has this
};

struct OneShard {
  std::size_t operator()(const ShardKey&, const Piece*) const { return 1; }
};

// Its room is for that many shards.
using RollupCache = AskedCache<ShardKey, Piece, OneShard>;

}  // namespace quipu
