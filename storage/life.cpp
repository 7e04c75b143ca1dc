#include "storage/life.h"

#include <algorithm>
#include <tuple>

#include "protocol/check.h"

namespace quipu {

bool is_plain(const ShardState& state) {
  const auto is_unborn = [](const auto& one) { return one.born == Wall{}; };
  return state.life == Life{} && std::ranges::all_of(state.cells, is_unborn) &&
         std::ranges::all_of(state.parts, is_unborn);
}

bool is_spent(const ShardState& state) {
  return state.life.ended != Wall{} && state.cells.empty() && state.parts.empty() &&
         !in_force(state.life) && state.shard_count == 1 && state.usable_shards == 1;
}

bool drop_dead(ShardState& state) {
  const auto is_dead = [&](const auto& one) { return one.born < state.life.ended; };
  return std::erase_if(state.cells, is_dead) + std::erase_if(state.parts, is_dead) > 0;
}

void keep_lives(ShardState& slice, const ShardState& first) {
  std::erase_if(slice.parts, [&](const Part& part) {
    return std::ranges::find(first.parts, part.born, &Part::born) == first.parts.end();
  });
}

bool realize(ShardState& state, Wall date) {
  if (!is_over(state.life, date)) return false;
  state.life.ended = state.life.at;
  drop_dead(state);
  QUIPU_CHECK(!in_force(state.life), "what is realized is over");
  return true;
}

namespace {

// The earliest birth in that copy. All of it began then or later. (The stamp proves nothing: the
// node that set it may have moved the other's deadline before it passed.)
Wall shown_by(const ShardState& state) {
  if (!state.parts.empty()) return state.parts.front().born;
  if (state.cells.empty()) return {};
  return std::ranges::min(state.cells, {}, &Cell::born).born;
}

// The other copy knows that the life of this deadline had ended before. (An end that both know does
// not say so: the deadline may be of the life after it, and of a clock that was behind.)
bool is_moot(const Life& deadline, const Life& other) {
  return deadline.ended < other.ended && deadline.stamp < other.ended;
}

}  // namespace

bool realize_both(ShardState& a, ShardState& b, const std::optional<Wall>& date) {
  const Wall by_a = shown_by(a), by_b = shown_by(b);
  const bool a_is_moot = is_moot(a.life, b.life);
  if (!is_moot(b.life, a.life)) realize(b, date.value_or(by_a));
  return !a_is_moot && realize(a, date.value_or(by_b));
}

void set_deadline(Life& life, Wall date, Wall at) {
  QUIPU_CHECK(at == Wall{} || (at > date && at > life.ended), "a deadline lies ahead");
  if (life.at == at && life.stamp >= date) return;
  life.stamp = std::min(kLatestDate, std::max(date, life.stamp + Wall::duration(1)));
  life.at = at;
  life.latest = std::max(life.latest, at);
}

void end(ShardState& state, Wall date) {
  Life& life = state.life;
  Wall last = life.ended;
  for (const Cell& cell : state.cells) last = std::max(last, cell.born);
  for (const Part& part : state.parts) last = std::max(last, part.born);
  life.ended = std::min(kLatestDate, std::max(date, last + Wall::duration(1)));
  drop_dead(state);
  set_deadline(life, date, Wall{});
}

void set_deadline_of_next(Life& life, Wall at) {
  QUIPU_CHECK(life.at == Wall{} && at > life.ended, "a life ends before the next begins");
  life.at = at;
  life.latest = std::max(life.latest, at);
}

void begin_again(ShardState& state, Wall date) {
  state.cells.clear();
  state.parts.clear();
  state.life.at = Wall{};
  state.life.stamp = std::max(state.life.stamp, date);
}

bool join(Life& into, const Life& from) {
  const Life before = into;
  into.ended = std::max(into.ended, from.ended);
  std::tie(into.stamp, into.at) =
      std::max(std::tuple(into.stamp, into.at), std::tuple(from.stamp, from.at));
  into.latest = std::max(into.latest, from.latest);
  into.once = into.once || from.once;
  return into != before;
}

}  // namespace quipu
