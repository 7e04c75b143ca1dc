// reference.h: the lattice again, directly from its definition. It shares nothing with the
// product, whose merge is compared with it.
//
//   cell = (commit, sum), (cleared commit, cleared sum): the greater of each pair
//   body of the kind `distinct`: the greater rank of each register, at the lower precision
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "protocol/state.h"
#include "storage/lattice.h"  // for Wide

namespace quipu::sim::reference {

// True if that changed it. `cells` by actor, each once.
bool join(ShardState& into, std::span<const Cell> cells, ShardIndex count, ShardIndex usable);
inline bool join(ShardState& into, const ShardState& from) {
  return join(into, from.cells, from.shard_count, from.usable_shards);
}
[[nodiscard]] Wide total(const ShardState& state);

// The ranks of a body of the kind `distinct`, by register. 0: none.
[[nodiscard]] std::vector<unsigned> ranks(std::string_view body);
// Whether each body of `both` has the greater ranks of those with its birth.
[[nodiscard]] bool is_join(const ShardState& both, const ShardState& a, const ShardState& b);

}  // namespace quipu::sim::reference
