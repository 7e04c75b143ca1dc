// shown.h: states as rapidcheck prints them in a counterexample.
#pragma once

#include <ostream>

#include "protocol/state.h"

namespace quipu {

// Found by rapidcheck by its name.
inline void showValue(const Cell& cell, std::ostream& out) {
  out << "{actor " << raw(cell.actor) << ", " << raw(cell.commit) << ": " << cell.sum
      << ", cleared " << raw(cell.cleared_commit) << ": " << cell.cleared_sum << ", born "
      << cell.born.time_since_epoch().count() << "}";
}

inline void showValue(const ShardState& state, std::ostream& out) {
  const auto ms = [](Wall wall) { return wall.time_since_epoch().count(); };
  const Life& life = state.life;
  out << state.shard_count << "/" << state.usable_shards << " [";
  for (const Cell& cell : state.cells) showValue(cell, out);
  out << "] ended " << ms(life.ended) << ", deadline " << ms(life.stamp) << ": " << ms(life.at)
      << ", latest " << ms(life.latest) << (life.once ? ", once" : "");
}

}  // namespace quipu
