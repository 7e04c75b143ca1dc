// affinity.h: the shard for all adds with one affinity.
//
//   "user:17" ──affinity_of──▶ 64 bits, over the wire ──shard_for(key's place)──▶ shard
//
// Invariant: every node and every client library that knows the same number of usable
// shards chooses the same shard.
#pragma once

#include <string_view>

#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu {

// The affinity of a name, such as a user's id. None for an empty name.
[[nodiscard]] Affinity affinity_of(std::string_view name);

// `first` is the place of the counter's shard 0. So two counters spread the same clients
// differently, and only a holder of the cluster's key can predict how.
// REQUIRES: usable > 0
[[nodiscard]] ShardIndex shard_for(Affinity affinity, const Placement& first, ShardIndex usable);

}  // namespace quipu
