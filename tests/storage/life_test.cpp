// Counters that end: the join stays a join, and every change only moves up.
#include "storage/life.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "storage/lattice.h"
#include "tests/storage/shown.h"

namespace quipu::test::lives {
namespace {

Wall at(std::int64_t ms) { return Wall{std::chrono::milliseconds(ms)}; }

// Few times, so that they collide.
rc::Gen<Wall> any_time() { return rc::gen::map(rc::gen::inRange<std::int64_t>(0, 5), at); }

// Equal (actor, birth, commit) means equal sum, as everywhere in a sound cluster.
rc::Gen<Cell> any_cell() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<std::uint64_t>(1, 4), any_time(),
                     rc::gen::inRange<std::uint64_t>(1, 4), rc::gen::arbitrary<bool>()),
      [](const std::tuple<std::uint64_t, Wall, std::uint64_t, bool>& drawn) {
        const auto& [actor, born, commit, cleared] = drawn;
        Cell cell{ActorId{actor}, Commit{commit}, static_cast<std::int64_t>(commit * 10 + actor)};
        cell.born = born;
        if (cleared) std::tie(cell.cleared_commit, cell.cleared_sum) = std::tuple(Commit{1}, 11);
        return cell;
      });
}

// As nodes hold them: no cell is older than the end, and a sealed state with births has a life.
ShardState any_state() {
  ShardState state;
  std::map<ActorId, Cell> cells;
  for (const Cell& cell : *rc::gen::container<std::vector<Cell>>(any_cell()))
    cells.emplace(cell.actor, cell);
  const bool plain = *rc::gen::inRange(0, 3) == 0;
  for (auto& [actor, cell] : cells) {
    if (plain) cell.born = {};
    state.cells.push_back(cell);
  }
  if (plain) return state;
  Life& life = state.life;
  life.ended = *any_time();
  life.stamp = *any_time();
  life.at = life.stamp == Wall{} ? Wall{} : *any_time();
  life.latest = std::max(life.at, *any_time());
  life.once = *rc::gen::arbitrary<bool>();
  drop_dead(state);
  return state;
}

ShardState join(ShardState a, const ShardState& b) {
  merge(a, as_entry(ShardRef{"any", 0}, b));
  return a;
}
ShardState realized(ShardState state, Wall date) {
  realize(state, date);
  return state;
}
bool is_below(const ShardState& low, const ShardState& high) { return join(low, high) == high; }

// ---- the join ----

RC_GTEST_PROP(Lives, JoinIsCommutative, ()) {
  const ShardState a = any_state(), b = any_state();
  RC_ASSERT(join(a, b) == join(b, a));
}

RC_GTEST_PROP(Lives, JoinIsAssociative, ()) {
  const ShardState a = any_state(), b = any_state(), c = any_state();
  RC_ASSERT(join(join(a, b), c) == join(a, join(b, c)));
}

RC_GTEST_PROP(Lives, JoinIsIdempotentAndAbsorbs, ()) {
  const ShardState a = any_state(), b = any_state();
  RC_ASSERT(join(a, a) == a);
  RC_ASSERT(join(join(a, b), b) == join(a, b));
}

RC_GTEST_PROP(Lives, MergeSaysWhetherAnythingChanged, ()) {
  const ShardState a = any_state(), b = any_state();
  ShardState merged = a;
  const Merged told = merge(merged, as_entry(ShardRef{"any", 0}, b));
  RC_ASSERT(told.changed == (merged != a));
  RC_ASSERT(!told.conflict);
  const bool outdated =
      std::ranges::any_of(b.cells, [&](const Cell& cell) { return cell.born < a.life.ended; });
  RC_ASSERT(told.outdated == outdated);
}

RC_GTEST_PROP(Lives, NoCellIsOlderThanTheEnd, ()) {
  const ShardState merged = join(any_state(), any_state());
  for (const Cell& cell : merged.cells) RC_ASSERT(cell.born >= merged.life.ended);
}

// ---- realize ----

RC_GTEST_PROP(Realize, OnlyMovesUp, ()) {
  const ShardState state = any_state();
  RC_ASSERT(is_below(state, realized(state, *any_time())));
}

RC_GTEST_PROP(Realize, IsIdempotentAndNoLaterOneIsUndone, ()) {
  const ShardState state = any_state();
  const Wall date = *any_time(), earlier = *any_time();
  RC_ASSERT(realized(realized(state, date), date) == realized(state, date));
  RC_ASSERT(realized(realized(state, date), std::min(date, earlier)) == realized(state, date));
}

// Two replicas that realize at different times come to the same state, once both have.
RC_GTEST_PROP(Realize, MayComeBeforeOrAfterAMergeWhereBothKnowTheDeadline, ()) {
  ShardState a = any_state(), b = any_state();
  b.life.stamp = a.life.stamp;
  b.life.at = a.life.at;
  a.life.latest = b.life.latest = std::max({a.life.latest, b.life.latest, a.life.at});
  const Wall date = *any_time();
  RC_ASSERT(join(realized(a, date), realized(b, date)) ==
            realized(join(realized(a, date), b), date));
}

TEST(Realize, keeps_the_deadline_that_has_passed) {
  ShardState state;
  set_deadline(state.life, at(1), at(3));
  EXPECT_FALSE(realize(state, at(2)));
  EXPECT_TRUE(realize(state, at(3)));
  EXPECT_EQ(state.life.ended, at(3));
  EXPECT_EQ(state.life.at, at(3));
  EXPECT_FALSE(in_force(state.life));
}

// Why: here is what would happen if it were removed.
TEST(Realize, of_a_deadline_that_is_removed_would_depend_on_the_order) {
  const auto tidy = [](ShardState state) {  // it looks tidy
    if (!in_force(state.life)) state.life.stamp = state.life.at = {};
    return state;
  };
  ShardState ended, old, later;
  ended.life = {.ended = at(3), .stamp = at(2), .at = at(3), .latest = at(5)};
  old.life = {.stamp = at(1), .at = at(5), .latest = at(5)};
  later.life = {.ended = at(4)};
  const ShardState one = tidy(join(tidy(join(ended, later)), old));
  const ShardState other = tidy(join(ended, tidy(join(later, old))));
  EXPECT_NE(one, other);
  EXPECT_EQ(join(join(ended, later), old), join(ended, join(later, old)));
}

// ---- two copies ----

ShardState copy_of(Wall ended, Wall stamp, Wall deadline, Wall born) {
  ShardState state{{Cell{ActorId{1}, Commit{1}, 5, {}, 0, born}}};
  state.life = {.ended = ended, .stamp = stamp, .at = deadline, .latest = deadline};
  return state;
}

TEST(RealizeBoth, ends_a_life_whose_deadline_a_slow_clock_set) {
  // A clock that is 4 behind began a life at the end of the one before, which both know.
  ShardState stale = copy_of(at(20), at(17), at(27), at(20)),
             next = copy_of(at(20), at(40), at(60), at(40));
  for (const std::optional<Wall> date : {std::optional(at(45)), std::optional<Wall>()}) {
    ShardState a = stale, b = next;
    EXPECT_TRUE(realize_both(a, b, date));
    EXPECT_EQ(a.life.ended, at(27));
    EXPECT_TRUE(a.cells.empty());
  }
}

TEST(RealizeBoth, leaves_a_deadline_whose_life_the_other_knows_to_have_ended_before) {
  ShardState a = copy_of(at(20), at(25), at(50), at(22)),
             b = copy_of(at(30), at(35), at(90), at(31));
  EXPECT_FALSE(realize_both(a, b, at(55)));
  EXPECT_EQ(a.life.ended, at(20));
}

// ---- changes ----

RC_GTEST_PROP(LifeChanges, OnlyMoveUp, ()) {
  const ShardState state = realized(any_state(), *any_time());
  const Wall date = *any_time();
  ShardState over = state;
  end(over, date);
  RC_ASSERT(is_below(state, over) || is_plain(state));
  RC_ASSERT(over.cells.empty() && !in_force(over.life));
  RC_ASSERT(over.life.ended >= date && over.life.ended > state.life.ended);

  ShardState expiring = state;
  const Wall ends = std::max(date, state.life.ended) + Wall::duration(1 + *rc::gen::inRange(0, 3));
  set_deadline(expiring.life, date, ends);
  RC_ASSERT(is_below(state, expiring) || is_plain(state));
  RC_ASSERT(in_force(expiring.life) && expiring.life.at == ends);

  ShardState persisted = expiring;
  set_deadline(persisted.life, date, Wall{});
  RC_ASSERT(is_below(expiring, persisted));
  RC_ASSERT(!in_force(persisted.life));
}

TEST(LifeChanges, the_later_expire_wins_not_the_later_deadline) {
  ShardState first, second;
  set_deadline(first.life, at(10), at(100));
  set_deadline(second.life, at(11), at(50));
  EXPECT_EQ(join(first, second).life.at, at(50));
  EXPECT_EQ(join(first, second).life.latest, at(100));
}

TEST(LifeChanges, an_end_is_later_than_every_birth_that_it_ends) {
  ShardState state{{Cell{ActorId{1}, Commit{1}, 5, {}, 0, at(70)}}};
  end(state, at(50));
  EXPECT_EQ(state.life.ended, at(71));
  EXPECT_TRUE(state.cells.empty());
  EXPECT_TRUE(is_spent(state));
}

// ---- once ----

RC_GTEST_PROP(Once, IsKnownWhereverAPlainCopyWasMerged, ()) {
  ShardState plain{{Cell{ActorId{1}, Commit{1}, 5}}}, other = any_state();
  const ShardState merged = join(plain, other);
  RC_ASSERT(is_plain(merged) == is_plain(other));
  RC_ASSERT(is_plain(merged) || merged.life.once);
}

TEST(Once, is_not_said_where_nothing_plain_was_shown) {
  ShardState state;
  set_deadline(state.life, at(1), at(9));
  EXPECT_FALSE(join(state, ShardState{}).life.once);
  EXPECT_FALSE(join(state, state).life.once);
}

}  // namespace
}  // namespace quipu::test::lives
