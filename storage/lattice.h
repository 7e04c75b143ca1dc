// lattice.h: the meaning of a shard's state. Everything is merge.
//
//   cell  = {commit, sum, cleared_commit, cleared_sum}, one per actor
//   value = Σ (sum − cleared_sum), added in 128 bits
//   merge = per actor, the greater (commit, sum) and the greater cleared pair,
//           compared lexicographically: a join for any input
//   reset = cleared := (commit, sum) as observed. So adds that it did not see survive, two
//           concurrent resets merge, and a repeated reset changes nothing
//
// That is the state of a sum. Other kinds have bodies, with joins of their own (kinds/kind.h).
// A counter with an end has more: its cells have births, and its life is joined, too (life.h).
//
// A PN-counter (Shapiro et al. 2011) whose per-actor parts are numbered by their durable
// commit, plus an observed-reset as in Riak's and Akka's counters.
//
// Invariant: equal (actor, birth, commit) means equal sum everywhere. `conflict` reports input
// that breaks it. Merge is a join even then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "protocol/state.h"
#include "storage/kinds/units.h"

namespace quipu {

__extension__ using Wide = __int128;

struct Merged {
  bool changed = false;
  bool conflict = false;
  bool outdated = false;  // `from` has cells that ended, or does not know of the end
};

Merged merge(Cell& into, const Cell& from);  // REQUIRES: same actor
// `from` names the shard, and so the kind of both. `units`: gets those that changed of its bodies.
Merged merge(ShardState& into, const DeltaEntry& from, Units* units = nullptr);

struct Total {
  Wide sum = 0;
  bool exists = false;  // some cell has a count after its last clear
  Total& operator+=(const Total& other);
};
[[nodiscard]] Total total(std::span<const Cell> cells);

// The sum as callers get it. Nothing if it left int64 (merge never wraps).
[[nodiscard]] inline std::optional<std::int64_t> narrow(Wide sum) {
  const auto low = static_cast<std::int64_t>(sum);
  return low == sum ? std::optional(low) : std::nullopt;
}

// Observed reset of all cells. True if anything changed.
bool clear(ShardState& state);

// Whether `amount` may be added to an actor's cell, in a shard with the total `held`. Neither
// the cell nor the total may leave int64, and a total that has left it may not move further.
[[nodiscard]] inline bool fits(std::int64_t own_sum, Wide held, std::int64_t amount) {
  if (!narrow(Wide{own_sum} + amount)) return false;
  const Wide after = held + amount;
  // From outside the range, adds may only move towards it.
  return narrow(after) || (after > 0 ? amount <= 0 : amount >= 0);
}

}  // namespace quipu
