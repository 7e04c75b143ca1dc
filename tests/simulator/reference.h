// reference.h: the lattice again, directly from its definition. It shares nothing with the
// product, whose merge is compared with it.
//
//   cell = (commit, sum), (cleared commit, cleared sum): the greater of each pair
#pragma once

#include <span>

#include "protocol/state.h"
#include "storage/lattice.h"  // for Wide

namespace quipu::sim::reference {

// True if that changed it. `cells` by actor, each once.
bool join(ShardState& into, std::span<const Cell> cells, ShardIndex count, ShardIndex usable);
inline bool join(ShardState& into, const ShardState& from) {
  return join(into, from.cells, from.shard_count, from.usable_shards);
}
[[nodiscard]] Wide total(const ShardState& state);

}  // namespace quipu::sim::reference
