#include "tests/simulator/reference.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace quipu::sim::reference {
namespace {

template <class Value>
bool raise(Value& into, const Value& from) {
  if (!(into < from)) return false;
  into = from;
  return true;
}

bool join(Cell& into, const Cell& from) {
  std::pair sum{into.commit, into.sum}, cleared{into.cleared_commit, into.cleared_sum};
  bool changed = raise(sum, {from.commit, from.sum});
  changed |= raise(cleared, {from.cleared_commit, from.cleared_sum});
  std::tie(into.commit, into.sum) = sum;
  std::tie(into.cleared_commit, into.cleared_sum) = cleared;
  return changed;
}

}  // namespace

bool join(ShardState& into, std::span<const Cell> cells, ShardIndex count, ShardIndex usable) {
  bool changed = false;
  for (const Cell& cell : cells) {
    const auto at =
        std::lower_bound(into.cells.begin(), into.cells.end(), cell.actor,
                         [](const Cell& one, ActorId actor) { return one.actor < actor; });
    if (at != into.cells.end() && at->actor == cell.actor) {
      changed |= join(*at, cell);
    } else {
      into.cells.insert(at, cell);
      changed = true;
    }
  }
  changed |= raise(into.shard_count, count);
  changed |= raise(into.usable_shards, usable);
  return changed;
}

Wide total(const ShardState& state) {
  Wide sum = 0;
  for (const Cell& cell : state.cells) sum += Wide{cell.sum} - cell.cleared_sum;
  return sum;
}

}  // namespace quipu::sim::reference
