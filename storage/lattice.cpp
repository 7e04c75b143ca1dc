#include "storage/lattice.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protocol/check.h"
#include "storage/life.h"

namespace quipu {

Merged merge(Cell& into, const Cell& from) {
  QUIPU_CHECK(into.actor == from.actor, "only cells of one actor are joined", into.actor,
              from.actor);
  Merged merged;
  if (into.born != from.born) {
    merged.changed = into.born < from.born;
    if (merged.changed) into = from;
    return merged;
  }
  merged.conflict = into.commit == from.commit && into.sum != from.sum;
  if (std::tie(into.commit, into.sum) < std::tie(from.commit, from.sum)) {
    into.commit = from.commit;
    into.sum = from.sum;
    merged.changed = true;
  }
  if (std::tie(into.cleared_commit, into.cleared_sum) <
      std::tie(from.cleared_commit, from.cleared_sum)) {
    into.cleared_commit = from.cleared_commit;
    into.cleared_sum = from.cleared_sum;
    merged.changed = true;
  }
  QUIPU_CHECK(into.commit >= from.commit && into.cleared_commit >= from.cleared_commit,
              "a join is no less than what was joined", into.commit, from.commit,
              into.cleared_commit, from.cleared_commit);
  return merged;
}

namespace {

bool has_births(std::span<const Cell> cells) {
  return std::ranges::any_of(cells, [](const Cell& cell) { return cell.born != Wall{}; });
}

// A plain counter with cells has shown them without a deadline.
bool plain_with_cells(const Life& life, std::span<const Cell> cells) {
  return life == Life{} && !cells.empty() && !has_births(cells);
}

Merged merge_cells(ShardState& into, std::span<const Cell> from) {
  Merged merged;
  const std::size_t held = into.cells.size();
  std::size_t at = 0;
  for (const Cell& cell : from) {
    while (at < held && into.cells[at].actor < cell.actor) ++at;
    if (at == held || into.cells[at].actor != cell.actor) {
      into.cells.push_back(cell);
      continue;
    }
    const Merged one = merge(into.cells[at], cell);
    merged.changed |= one.changed;
    merged.conflict |= one.conflict;
  }
  // New cells are at the end, in order. Inserting them one by one would cost a move each.
  if (into.cells.size() > held) {
    const auto by_actor = [](const Cell& a, const Cell& b) { return a.actor < b.actor; };
    std::inplace_merge(into.cells.begin(), into.cells.begin() + static_cast<std::ptrdiff_t>(held),
                       into.cells.end(), by_actor);
    QUIPU_CHECK(std::ranges::adjacent_find(into.cells, std::ranges::equal_to{}, &Cell::actor) ==
                    into.cells.end(),
                "a state has one cell of each actor", into.cells.size());
    merged.changed = true;
  }
  return merged;
}

// As merge_cells(), for counters that end. Cells that have ended by now are not merged at all, so
// that a stale copy changes nothing.
Merged merge_lives(ShardState& into, const DeltaEntry& from) {
  const bool shown =
      plain_with_cells(into.life, into.cells) || plain_with_cells(from.life, from.cells);
  const Wall ended_here = into.life.ended;
  bool changed = join(into.life, from.life);
  changed |= shown && !std::exchange(into.life.once, true);
  changed |= drop_dead(into);
  std::vector<Cell> living;
  bool outdated = false;
  for (const Cell& cell : from.cells) {
    if (cell.born >= into.life.ended) living.push_back(cell);
    outdated |= cell.born < ended_here;
  }
  Merged merged = merge_cells(into, living);
  merged.changed |= changed;
  merged.outdated = outdated;
  return merged;
}

}  // namespace

Merged merge(ShardState& into, const DeltaEntry& from) {
  const bool plain = into.life == Life{} && from.life == Life{} && !has_births(into.cells) &&
                     !has_births(from.cells);
  Merged merged = plain ? merge_cells(into, from.cells) : merge_lives(into, from);
  if (from.shard_count > into.shard_count || from.usable_shards > into.usable_shards) {
    into.shard_count = std::max(into.shard_count, from.shard_count);
    into.usable_shards = std::max(into.usable_shards, from.usable_shards);
    merged.changed = true;
  }
  return merged;
}

Merged merge(ShardState& into, const ShardState& from) {
  return merge(into, as_entry(ShardRef{{}, 0}, from));
}

Total& Total::operator+=(const Total& other) {
  sum += other.sum;
  exists = exists || other.exists;
  return *this;
}

Total total(std::span<const Cell> cells) {
  Total result;
  for (const Cell& cell : cells) {
    result.sum += Wide{cell.sum} - Wide{cell.cleared_sum};
    result.exists = result.exists || cell.commit > cell.cleared_commit;
  }
  return result;
}

bool clear(ShardState& state) {
  bool changed = false;
  for (Cell& cell : state.cells) {
    Cell cleared = cell;
    cleared.cleared_commit = cell.commit;
    cleared.cleared_sum = cell.sum;
    changed |= merge(cell, cleared).changed;
  }
  QUIPU_CHECK(!total(state.cells).exists, "an observed reset clears everything",
              state.cells.size());
  return changed;
}

}  // namespace quipu
