#include "storage/lattice.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protocol/check.h"
#include "protocol/shard_number.h"
#include "storage/kinds/parts.h"
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

bool has_births(std::span<const Cell> cells, std::span<const Part> parts) {
  const auto was_born = [](const auto& one) { return one.born != Wall{}; };
  return std::ranges::any_of(cells, was_born) || std::ranges::any_of(parts, was_born);
}

// A plain counter that counts something has shown it without a deadline.
bool is_plain_and_shown(const DeltaEntry& state) {
  return state.life == Life{} && !(state.cells.empty() && state.parts.empty()) &&
         !has_births(state.cells, state.parts);
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
Merged merge_lives(ShardState& into, const DeltaEntry& from, Units& units) {
  const bool shown = is_plain_and_shown(as_entry(from.ref, into)) || is_plain_and_shown(from);
  const Wall ended_here = into.life.ended;
  bool changed = join(into.life, from.life);
  changed |= shown && !std::exchange(into.life.once, true);
  changed |= drop_dead(into);
  if (changed) units.add_all();
  std::vector<Cell> living;
  std::vector<Part> living_parts;
  bool outdated = false;
  const auto sort_out = [&](const auto& all, auto& alive) {
    for (const auto& one : all) {
      if (one.born >= into.life.ended) alive.push_back(one);
      outdated |= one.born < ended_here;
    }
  };
  sort_out(from.cells, living);
  sort_out(from.parts, living_parts);
  Merged merged = merge_cells(into, living);
  merged.changed |= join_parts(kind_of(from.ref.shard), into.parts, living_parts, units);
  merged.changed |= changed;
  merged.outdated = outdated;
  return merged;
}

}  // namespace

Merged merge(ShardState& into, const DeltaEntry& from, Units* units) {
  const bool plain = into.life == Life{} && from.life == Life{} &&
                     !has_births(into.cells, into.parts) && !has_births(from.cells, from.parts);
  Units any;
  Units& changed = units != nullptr ? *units : any;
  Merged merged;
  if (!plain) {
    merged = merge_lives(into, from, changed);
  } else if (is_sum(from.ref.shard)) {
    merged = merge_cells(into, from.cells);
  } else {
    merged.changed = join_parts(kind_of(from.ref.shard), into.parts, from.parts, changed);
  }
  if (from.shard_count > into.shard_count || from.usable_shards > into.usable_shards) {
    into.shard_count = std::max(into.shard_count, from.shard_count);
    into.usable_shards = std::max(into.usable_shards, from.usable_shards);
    merged.changed = true;
  }
  return merged;
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
