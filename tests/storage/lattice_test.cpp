// Merge is a join whatever it is given; a value never wraps; a reset removes what
// it saw and nothing else.
#include "storage/lattice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/storage/samples.h"
#include "tests/storage/shown.h"

namespace quipu::test {
namespace {

// Few actors and commits, so that they collide; sums small or at the edges.
rc::Gen<std::int64_t> any_sum() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-3, 4), rc::gen::arbitrary<std::int64_t>(),
                        rc::gen::element(kMin, kMin + 1, kMax - 1, kMax));
}

rc::Gen<Commit> any_commit() {
  return rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 4),
                      [](std::uint64_t n) { return Commit{n}; });
}

rc::Gen<Cell> any_cell() {
  return rc::gen::build<Cell>(
      rc::gen::set(&Cell::actor, rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 5),
                                              [](std::uint64_t n) { return ActorId{n}; })),
      rc::gen::set(&Cell::commit, any_commit()), rc::gen::set(&Cell::sum, any_sum()),
      rc::gen::set(&Cell::cleared_commit, any_commit()),
      rc::gen::set(&Cell::cleared_sum, any_sum()));
}

rc::Gen<ShardState> any_state() {
  const auto cells =
      rc::gen::map(rc::gen::container<std::vector<Cell>>(any_cell()), [](std::vector<Cell> some) {
        std::map<ActorId, Cell> once;
        for (const Cell& cell : some) once.emplace(cell.actor, cell);
        std::vector<Cell> sorted;
        for (const auto& [actor, cell] : once) sorted.push_back(cell);
        return sorted;
      });
  return rc::gen::build<ShardState>(
      rc::gen::set(&ShardState::cells, cells),
      rc::gen::set(&ShardState::shard_count, rc::gen::inRange<ShardIndex>(1, 5)),
      rc::gen::set(&ShardState::usable_shards, rc::gen::inRange<ShardIndex>(1, 5)));
}

ShardState join(ShardState a, const ShardState& b) {
  merge(a, as_entry(ShardRef{"any", 0}, b));
  return a;
}

ShardState cleared(ShardState state) {
  clear(state);
  return state;
}

// `amount` counted by `actor` under the next commit of its cell.
ShardState added(ShardState state, ActorId actor, std::int64_t amount) {
  Cell cell{actor, Commit{1}, amount, {}, 0};
  for (const Cell& held : state.cells) {
    if (held.actor == actor)
      cell = {actor, next(held.commit), held.sum + amount, held.cleared_commit, held.cleared_sum};
  }
  return join(state, ShardState{{cell}, 1, 1});
}

std::optional<std::int64_t> value_of(const ShardState& state) {
  return narrow(total(state.cells).sum);
}
bool is_there(const ShardState& state) { return total(state.cells).exists; }

// ---- merge is a join ----

RC_GTEST_PROP(Merge, IsCommutative, ()) {
  const ShardState a = *any_state(), b = *any_state();
  RC_ASSERT(join(a, b) == join(b, a));
}

RC_GTEST_PROP(Merge, IsAssociative, ()) {
  const ShardState a = *any_state(), b = *any_state(), c = *any_state();
  RC_ASSERT(join(join(a, b), c) == join(a, join(b, c)));
}

RC_GTEST_PROP(Merge, IsIdempotentAndAbsorbs, ()) {
  const ShardState a = *any_state(), b = *any_state();
  RC_ASSERT(join(a, a) == a);
  RC_ASSERT(join(join(a, b), b) == join(a, b));
}

RC_GTEST_PROP(Merge, SaysWhetherAnythingChanged, ()) {
  const ShardState a = *any_state(), b = *any_state();
  ShardState merged = a;
  const bool changed = merge(merged, as_entry(ShardRef{"any", 0}, b)).changed;
  RC_ASSERT(changed == (merged != a));
}

RC_GTEST_PROP(Merge, KeepsCellsSortedAndEachActorOnce, ()) {
  const ShardState merged = join(*any_state(), *any_state());
  RC_ASSERT(std::adjacent_find(merged.cells.begin(), merged.cells.end(),
                               [](const Cell& left, const Cell& right) {
                                 return left.actor >= right.actor;
                               }) == merged.cells.end());
}

RC_GTEST_PROP(Merge, OfADeltaEntryIsTheMergeOfItsState, ()) {
  const ShardState a = *any_state(), b = *any_state();
  ShardState merged = a;
  merge(merged, DeltaEntry{ShardRef{"any", 0}, b.shard_count, b.usable_shards, b.cells});
  RC_ASSERT(merged == join(a, b));
}

TEST(Merge, TakesTheGreaterCommitWhateverItsSum) {
  Cell held{ActorId{1}, Commit{5}, 100, {}, 0};
  EXPECT_TRUE(merge(held, Cell{ActorId{1}, Commit{6}, -7, {}, 0}).changed);
  EXPECT_EQ(held.sum, -7);
  EXPECT_FALSE(merge(held, Cell{ActorId{1}, Commit{5}, 100, {}, 0}).changed);
  EXPECT_EQ(held.sum, -7);
}

TEST(Merge, NeverDivergesOnATieAndReportsIt) {
  const Cell a{ActorId{1}, Commit{5}, 3, {}, 0}, b{ActorId{1}, Commit{5}, -9, {}, 0};
  Cell ab = a, ba = b;
  EXPECT_TRUE(merge(ab, b).conflict);
  EXPECT_TRUE(merge(ba, a).conflict);
  EXPECT_EQ(ab, ba);
  EXPECT_FALSE(merge(ab, ba).conflict) << "once merged, all agree";
}

TEST(Merge, ReportsNoConflictBetweenEqualOrSuccessiveCells) {
  Cell held{ActorId{1}, Commit{5}, 3, Commit{2}, 1};
  EXPECT_FALSE(merge(held, held).conflict);
  EXPECT_FALSE(merge(held, Cell{ActorId{1}, Commit{4}, 9, {}, 0}).conflict);
  EXPECT_FALSE(merge(held, Cell{ActorId{1}, Commit{6}, 9, {}, 0}).conflict);
}

TEST(Merge, FindsTheConflictAmongManyCells) {
  ShardState state{{{ActorId{1}, Commit{1}, 1, {}, 0}, {ActorId{2}, Commit{1}, 1, {}, 0}}, 1, 1};
  const ShardState other{
      {{ActorId{1}, Commit{1}, 1, {}, 0}, {ActorId{2}, Commit{1}, 2, {}, 0}}, 1, 1};
  EXPECT_TRUE(merge(state, as_entry(ShardRef{"any", 0}, other)).conflict);
}

// ---- the value ----

// Adds in base 2^32, apart from any 128-bit type.
struct Oracle {
  std::int64_t high = 0;
  std::int64_t low = 0;  // 0 … 2^32-1 once normal

  void add(std::int64_t n, int sign) {
    high += sign * (n >> 32);
    low += sign * (n & 0xffffffff);
    high += low >> 32;
    low &= 0xffffffff;
  }
  [[nodiscard]] std::optional<std::int64_t> value() const {
    if (high < -(std::int64_t{1} << 31) || high >= std::int64_t{1} << 31) return std::nullopt;
    return high * (std::int64_t{1} << 32) + low;
  }
};

RC_GTEST_PROP(Total, IsTheTrueSumOrNoNumber, ()) {
  const auto cells = *rc::gen::container<std::vector<Cell>>(any_cell());
  Oracle oracle;
  for (const Cell& cell : cells) {
    oracle.add(cell.sum, 1);
    oracle.add(cell.cleared_sum, -1);
  }
  RC_ASSERT(narrow(total(cells).sum) == oracle.value());
}

RC_GTEST_PROP(Total, OfShardsIsTheTotalOfAllTheirCells, ()) {
  const auto left = *rc::gen::container<std::vector<Cell>>(any_cell());
  const auto right = *rc::gen::container<std::vector<Cell>>(any_cell());
  std::vector<Cell> both = left;
  both.insert(both.end(), right.begin(), right.end());
  Total sum = total(left);
  sum += total(right);
  RC_ASSERT(sum.sum == total(both).sum);
  RC_ASSERT(sum.exists == total(both).exists);
}

TEST(Total, IsANumberUpToTheEdgesOfInt64) {
  EXPECT_EQ(narrow(Wide{kMax}), kMax);
  EXPECT_EQ(narrow(Wide{kMin}), kMin);
  EXPECT_EQ(narrow(Wide{kMax} + 1), std::nullopt);
  EXPECT_EQ(narrow(Wide{kMin} - 1), std::nullopt);
  EXPECT_EQ(narrow(0), 0);
}

TEST(Total, SurvivesTheWidestCells) {
  const Cell up{ActorId{1}, Commit{1}, kMax, {}, kMin}, down{ActorId{2}, Commit{1}, kMin, {}, kMax};
  EXPECT_EQ(value_of(ShardState{{up, down}, 1, 1}), 0);
  EXPECT_EQ(value_of(ShardState{{up}, 1, 1}), std::nullopt);
}

// ---- whether an add may happen ----

TEST(Fits, StopsAtTheEdgesOfTheCellAndOfTheTotal) {
  struct Case {
    std::int64_t own;
    Wide held;
    std::int64_t amount;
    bool fits;
  };
  const Wide above = Wide{kMax} + 5, below = Wide{kMin} - 5;
  for (const auto& [own, held, amount, expected] : std::vector<Case>{
           {0, 0, 0, true},
           {0, 0, kMax, true},
           {0, 0, kMin, true},
           {kMax, kMax, 0, true},
           {kMax - 1, kMax - 1, 1, true},
           {kMax, 0, 1, false},  // the cell alone
           {kMin, 0, -1, false},
           {kMin + 1, 0, -1, true},
           {0, kMax, 1, false},  // the total alone
           {0, Wide{kMax} - 1, 1, true},
           {0, kMin, -1, false},
           {0, Wide{kMin} + 1, -1, true},
           {0, kMin, kMax, true},  // far, but towards the middle
           {0, above, 1, false},   // merged beyond: no further …
           {0, above, 0, true},
           {0, above, -1, true},  // … but back
           {0, below, -1, false},
           {0, below, 0, true},
           {0, below, 1, true},
           {kMin, above, kMin, false},
       }) {
    EXPECT_EQ(fits(own, held, amount), expected)
        << "own " << own << ", held " << static_cast<double>(held) << ", amount " << amount;
  }
}

// ---- reset ----

RC_GTEST_PROP(Reset, RepeatedIsTheSameReset, ()) {
  ShardState once = cleared(*any_state());
  const ShardState before = once;
  RC_ASSERT(!clear(once));
  RC_ASSERT(once == before);
}

RC_GTEST_PROP(Reset, OfConcurrentResettersMerges, ()) {
  const ShardState a = *any_state(), b = *any_state();
  RC_ASSERT(join(cleared(a), cleared(b)) == join(cleared(b), cleared(a)));
  // Whoever saw less adds nothing to the reset of who saw all.
  const ShardState both = join(a, b);
  RC_ASSERT(join(cleared(both), cleared(a)) == cleared(both));
}

RC_GTEST_PROP(Reset, KeepsTheAddsThatItDidNotSee, ()) {
  ShardState seen;
  std::int64_t unseen_sum = 0;
  const auto amounts = rc::gen::inRange<std::int64_t>(-1000, 1001);
  for (const std::int64_t amount : *rc::gen::container<std::vector<std::int64_t>>(amounts)) {
    seen = added(seen, ActorId{*rc::gen::inRange<std::uint64_t>(1, 4)}, amount);
  }
  ShardState elsewhere = seen;
  const auto unseen = *rc::gen::container<std::vector<std::int64_t>>(amounts);
  for (const std::int64_t amount : unseen) {
    elsewhere = added(elsewhere, ActorId{*rc::gen::inRange<std::uint64_t>(1, 6)}, amount);
    unseen_sum += amount;
  }
  const ShardState merged = join(cleared(seen), elsewhere);
  RC_ASSERT(value_of(merged) == unseen_sum);
  RC_ASSERT(is_there(merged) == !unseen.empty());
}

TEST(Reset, BringsTheValueToZeroAndIsCountedOn) {
  const ActorId actor{1};
  ShardState state = added(added({}, actor, 10), ActorId{2}, -3);
  ASSERT_EQ(value_of(state), 7);
  EXPECT_TRUE(clear(state));
  EXPECT_EQ(value_of(state), 0);
  EXPECT_EQ(value_of(added(state, actor, 5)), 5);
}

TEST(Reset, OfTwoReplicasThatSawDifferentAddsRemovesBoth) {
  const ShardState left = added({}, ActorId{1}, 10), right = added({}, ActorId{2}, 20);
  EXPECT_EQ(value_of(join(cleared(left), cleared(right))), 0);
  EXPECT_EQ(value_of(join(cleared(left), right)), 20);
}

TEST(Reset, OfNothingChangesNothing) {
  ShardState empty;
  EXPECT_FALSE(clear(empty));
  EXPECT_EQ(empty, ShardState{});
}

// ---- existence ----

TEST(Existence, BeginsWithAnAddEvenOfZeroAndEndsWithAReset) {
  ShardState state;
  EXPECT_FALSE(is_there(state));
  state = added(state, ActorId{1}, 0);
  EXPECT_TRUE(is_there(state));
  state = added(state, ActorId{1}, 5);
  state = added(state, ActorId{2}, -5);
  EXPECT_TRUE(is_there(state)) << "a sum of zero is a value";
  state = cleared(state);
  EXPECT_FALSE(is_there(state));
  EXPECT_TRUE(is_there(added(state, ActorId{2}, 0)));
}

TEST(Existence, IsKeptByAnAddThatAResetDidNotSee) {
  const ShardState base = added({}, ActorId{1}, 1);
  EXPECT_TRUE(is_there(join(cleared(base), added(base, ActorId{1}, 0))));
  EXPECT_FALSE(is_there(join(cleared(base), base)));
}

}  // namespace
}  // namespace quipu::test
