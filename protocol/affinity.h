// affinity.h: which shard the adds of one client meet in.
//
//   "user:17" ──affinity_of──▶ 64 bits, over the wire ──shard_for(key's place)──▶ shard
//
// Invariant: every node and every client library chooses the same shard, as long as
// they know the same number of shards that adds may use.
#pragma once

#include <string_view>

#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu {

// Of a name as users give it, such as a user's id; none of an empty one.
[[nodiscard]] Affinity affinity_of(std::string_view name);

// `first` is the place of the counter's shard 0: so two counters spread the same
// clients differently, and nobody without the cluster's key can tell how.
// REQUIRES: usable > 0
[[nodiscard]] ShardIndex shard_for(Affinity affinity, const Placement& first, ShardIndex usable);

}  // namespace quipu
