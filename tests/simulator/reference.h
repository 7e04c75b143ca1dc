// reference.h: the lattice once more, as its definition reads, and nothing shared with
// the product, whose merge is compared with it.
//
//   cell = (commit, sum), (cleared commit, cleared sum): of each pair the greater
#pragma once

#include <span>

#include "protocol/state.h"
#include "storage/lattice.h"  // for Wide

namespace quipu::sim::reference {

// True if that changed it. `cells` by actor, each once.
bool join(ShardState& into, std::span<const Cell> cells, ShardIndex count, ShardIndex usable);
inline bool join(ShardState& into, const ShardState& from) {
  return join(into, from.cells, from.count, from.usable);
}
[[nodiscard]] Wide total(const ShardState& state);

}  // namespace quipu::sim::reference
