#include "storage/executor.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

ShardList shards(const std::vector<ShardKey>& names) {
  ShardList list;
  for (const ShardKey& name : names) list.push(name);
  return list;
}

// ---- add ----

TEST(Executor, counts_an_add_at_once_and_records_it_at_the_seal) {
  Executor executor = fresh_executor(1);
  EXPECT_FALSE(executor.has_open());
  EXPECT_FALSE(exists(executor, kLikes));

  const Applied applied = add(executor, kLikes, 7);
  EXPECT_EQ(applied.code, Code::ok);
  EXPECT_EQ(applied.commit, Commit{1});
  EXPECT_EQ(value(executor, kLikes), 7);
  EXPECT_TRUE(exists(executor, kLikes));
  EXPECT_TRUE(executor.has_open());
  EXPECT_EQ(executor.covering(), Commit{1});

  const std::vector<Sealed> sealed = seal(executor);
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(sealed[0].commit, Commit{1});
  EXPECT_EQ(sealed[0].local, shards({kLikes}));
  EXPECT_EQ(cells_of(record_of(sealed[0])), state(executor, kLikes).cells);
  EXPECT_FALSE(executor.has_open());
  EXPECT_EQ(executor.covering(), Commit{1});
}

TEST(Executor, lists_no_shards_where_there_is_nobody_to_tell) {
  ExecutorOptions alone;
  alone.has_peers = false;
  Executor executor = fresh_executor(1, alone);
  add(executor, kLikes, 7);
  const std::vector<Sealed> sealed = seal(executor);
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(sealed[0].local, shards({}));
  EXPECT_EQ(cells_of(record_of(sealed[0])), state(executor, kLikes).cells);
}

TEST(Executor, records_a_cell_once_however_often_it_was_added_to) {
  Executor executor = fresh_executor(1);
  for (int i = 0; i < 1000; ++i) add(executor, kLikes, 2);
  const std::vector<Cell> cells = cells_of(record_of(seal(executor)[0]));
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].sum, 2000);
  EXPECT_EQ(cells[0].commit, Commit{1});
}

TEST(Executor, records_only_its_own_cell_where_nothing_else_changed) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, cell_of(1, 5, 100)));
  add(executor, kLikes, 1);
  EXPECT_EQ(cells_of(record_of(seal(executor)[0])).size(), 2u) << "the merge is to be durable too";
  add(executor, kLikes, 1);
  const std::vector<Cell> cells = cells_of(record_of(seal(executor)[0]));
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].sum, 2);
  EXPECT_EQ(cells[0].commit, Commit{2});
}

TEST(Executor, numbers_records_densely_empty_ones_too) {
  Executor executor = fresh_executor(1);
  executor.seal();
  add(executor, kLikes, 1);
  executor.seal();
  executor.seal();
  const std::vector<Sealed> sealed = executor.take_sealed();
  ASSERT_EQ(sealed.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sealed[i].commit, Commit{i + 1});
  EXPECT_EQ(executor.sealed(), Commit{3});
}

// Also a cell of a merged state, and one that was changed before in the same record.
TEST(Executor, counts_on_where_a_sum_outgrows_its_place_in_memory) {
  constexpr std::int64_t k47 = std::int64_t{1} << 47;
  for (const std::int64_t sign : {1, -1}) {
    Executor executor = fresh_executor(1);
    executor.merge(said(kLikes, cell_of(1, 50, 100)));
    add(executor, kLikes, sign * (k47 - 1));
    executor.seal();
    add(executor, kLikes, 0);
    for (int i = 0; i < 3; ++i) add(executor, kLikes, sign);
    EXPECT_EQ(value(executor, kLikes), 100 + sign * (k47 + 2));
    const std::vector<Sealed> sealed = seal(executor);
    const std::vector<Cell> cells = cells_of(record_of(sealed.back()));
    ASSERT_EQ(cells.size(), 1u);
    EXPECT_EQ(cells[0].sum, sign * (k47 + 2));
    EXPECT_EQ(cells[0].commit, executor.sealed());
    EXPECT_EQ(executor.open_bytes(), 0u);
    const std::size_t wide = executor.map().index().footprint();
    add(executor, kLikes, -sign);
    EXPECT_EQ(executor.map().index().footprint(), wide) << "in its place";
  }
}

TEST(Executor, counts_on_where_the_commit_outgrows_its_place_in_memory) {
  Meta meta;
  meta.store = StoreId{1};
  meta.journal_first = Commit{(std::uint64_t{1} << 48) - 1};
  ExecutorOptions options;
  options.placement = kPlacement;
  Executor executor(std::move(meta), options, Random(1));
  JournalNames names;
  for (int i = 1; i <= 3; ++i) {
    add(executor, kLikes, 1);
    const std::vector<Sealed> sealed = seal(executor);
    const std::vector<Cell> cells = cells_of(record_of(sealed.back(), names));
    ASSERT_EQ(cells.size(), 1u);
    EXPECT_EQ(cells[0].sum, i);
    EXPECT_EQ(cells[0].commit, executor.sealed());
    EXPECT_EQ(state(executor, kLikes).cells, cells);
  }
  EXPECT_GT(executor.sealed(), Commit{std::uint64_t{1} << 48});
}

TEST(Executor, writes_all_shards_of_a_partition_under_one_actor) {
  Executor executor = fresh_executor(1);
  std::map<Partition, std::set<ActorId>> actors;
  for (int i = 0; i < 10000; ++i) {
    const ShardKey name{"k" + std::to_string(i), 0};
    add(executor, name, 1);
    actors[partition_of(executor, name)].insert(state(executor, name).cells.at(0).actor);
  }
  std::set<ActorId> all;
  for (const auto& [partition, own] : actors) {
    EXPECT_EQ(own.size(), 1u);
    all.insert(own.begin(), own.end());
  }
  EXPECT_EQ(all.size(), actors.size()) << "and each partition under another";
}

TEST(Executor, tells_what_the_counter_counts_right_after_an_add) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, cell_of(1, 5, 100)));
  EXPECT_EQ(add(executor, kLikes, 1).total, 101);  // a first cell
  EXPECT_EQ(add(executor, kLikes, -2).total, 99);  // in place
  reset(executor, kLikes);
  EXPECT_EQ(add(executor, kLikes, 3).total, 3);
}

TEST(Executor, tells_no_total_where_it_knows_only_a_part_of_the_counter) {
  Executor executor = fresh_executor(1);
  add(executor, kLikes, 1);
  Delta spread;
  spread.push(kLikes, ShardState{{}, 2, 2});
  executor.merge(spread);
  EXPECT_EQ(add(executor, kLikes, 1).total, std::nullopt);
  EXPECT_EQ(add(executor, {"likes", 1}, 1).total, std::nullopt);

  Token token{StoreId{1}, executor.issue_session(), 1, 1};
  EXPECT_EQ(add(executor, kViews, 1, token).total, 1);
  EXPECT_EQ(add(executor, kViews, 1, token).total, std::nullopt) << "a retry may be late";
}

TEST(Executor, makes_a_counter_exist_by_adding_nothing_to_it) {
  Executor executor = fresh_executor(1);
  EXPECT_EQ(add(executor, kLikes, 0).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), 0);
  EXPECT_TRUE(exists(executor, kLikes));
}

// ---- overflow ----

TEST(Executor, refuses_what_would_leave_int64) {
  const struct {
    const char* story;
    std::int64_t own;     // already added here
    std::int64_t others;  // what another actor contributed
    std::int64_t amount;
    Code expected;
  } cases[] = {
      {"the greatest amount", 0, 0, kMax, Code::ok},
      {"the least amount", 0, 0, kMin, Code::ok},
      {"up to the top", kMax - 1, 0, 1, Code::ok},
      {"over the top", kMax, 0, 1, Code::out_of_range},
      {"down to the bottom", kMin + 1, 0, -1, Code::ok},
      {"under the bottom", kMin, 0, -1, Code::out_of_range},
      {"from top to bottom", kMax, 0, kMin, Code::ok},
      {"nothing at the top", kMax, 0, 0, Code::ok},
      {"the total over the top", 1, kMax - 1, 1, Code::out_of_range},
      {"the total up to the top", 1, kMax - 2, 1, Code::ok},
      {"the total under the bottom", -1, kMin + 1, -1, Code::out_of_range},
      {"own full, the total not", kMax, -5, 1, Code::out_of_range},
      {"own full, moving back", kMax, -5, -1, Code::ok},
      {"a first add over the top of others'", 0, kMax, 1, Code::out_of_range},
      {"a first add that brings others' back", 0, kMax, -1, Code::ok},
  };
  for (const auto& row : cases) {
    Executor executor = fresh_executor(1);
    if (row.own != 0) {
      ASSERT_EQ(add(executor, kLikes, row.own).code, Code::ok);
    }
    if (row.others != 0) executor.merge(said(kLikes, cell_of(1, 1, row.others)));
    executor.seal();
    const ShardState held = state(executor, kLikes);

    EXPECT_EQ(add(executor, kLikes, row.amount).code, row.expected) << row.story;
    if (row.expected == Code::ok) {
      EXPECT_EQ(value(executor, kLikes), narrow(Wide{row.own} + row.others + row.amount))
          << row.story;
    } else {
      EXPECT_EQ(state(executor, kLikes), held) << row.story;
      EXPECT_FALSE(executor.has_open()) << row.story;
      EXPECT_EQ(executor.covering(), executor.sealed()) << row.story;
    }
  }
}

TEST(Executor, lets_a_total_that_left_int64_only_come_back) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, {.cells = {{ActorId{1}, Commit{1}, kMax, {}, 0},
                                         {ActorId{2}, Commit{1}, 10, {}, 0}}}));
  EXPECT_EQ(value(executor, kLikes), std::nullopt) << "an error, not a wrapped number";
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::out_of_range);
  EXPECT_EQ(add(executor, kLikes, 0).code, Code::ok);
  EXPECT_EQ(add(executor, kLikes, -4).code, Code::ok) << "though it is still outside";
  EXPECT_EQ(value(executor, kLikes), std::nullopt);
  EXPECT_EQ(add(executor, kLikes, -6).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), kMax);
}

TEST(Executor, draws_no_actor_for_a_refused_add) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, cell_of(1, 1, kMax)));
  executor.seal();
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::out_of_range);
  EXPECT_FALSE(executor.has_actor(partition_of(executor, kLikes)));
}

TEST(Executor, starts_a_cell_again_once_it_is_fully_cleared) {
  for (const std::int64_t before : {kMax, kMin, std::int64_t{5}}) {
    Executor executor = fresh_executor(1);
    Executor peer = fresh_executor(2);
    add(executor, kLikes, before);
    executor.seal();
    peer.merge(tell(executor, {kLikes}));
    reset(executor, kLikes);
    (void)executor.take_sealed();

    // As a SET does, which adds right behind its reset: nothing of before is left.
    EXPECT_EQ(add(executor, kLikes, 0).code, Code::ok);
    EXPECT_TRUE(exists(executor, kLikes));
    const std::int64_t amount = before > 0 ? kMax : kMin;
    const Applied applied = add(executor, kLikes, amount);
    EXPECT_EQ(applied.code, Code::ok);
    EXPECT_EQ(applied.total, amount);
    EXPECT_EQ(value(executor, kLikes), amount);

    // It is cleared at 0 under a number that the cell had no sum under.
    executor.seal();
    const std::vector<Sealed> sealed = executor.take_sealed();
    JournalNames names;
    const Cell now = cells_of(record_of(sealed.back(), names)).at(0);
    EXPECT_EQ(now, (Cell{now.actor, applied.commit, amount, now.cleared_commit, 0}));
    EXPECT_EQ(now.cleared_commit, Commit{raw(applied.commit) - 1});
    EXPECT_GT(now.cleared_commit, Commit{1});

    // Whoever saw the cell before, and no reset, follows all the same.
    peer.merge(tell(executor, {kLikes}));
    EXPECT_EQ(value(peer, kLikes), amount);
  }
}

// A reset that saw only what came before clears nothing of what comes after.
TEST(Executor, takes_a_late_reset_of_a_cell_that_has_started_again) {
  Executor executor = fresh_executor(1);
  Executor peer = fresh_executor(2);
  add(executor, kLikes, kMax);
  executor.seal();
  peer.merge(tell(executor, {kLikes}));
  reset(executor, kLikes);
  add(executor, kLikes, 3);
  executor.seal();
  reset(peer, kLikes);
  peer.seal();
  executor.merge(tell(peer, {kLikes}));
  EXPECT_EQ(value(executor, kLikes), 3);
  executor.seal();
  peer.merge(tell(executor, {kLikes}));
  EXPECT_EQ(value(peer, kLikes), 3);
}

// Another node's reset saw only a part of it.
TEST(Executor, refuses_to_overflow_a_cell_that_still_counts) {
  Executor executor = fresh_executor(1);
  Executor peer = fresh_executor(2);
  add(executor, kLikes, kMax - 1);
  executor.seal();
  peer.merge(tell(executor, {kLikes}));
  reset(peer, kLikes);
  peer.seal();
  add(executor, kLikes, 1);
  executor.seal();
  executor.merge(tell(peer, {kLikes}));
  executor.seal();
  const ShardState held = state(executor, kLikes);
  EXPECT_EQ(value(executor, kLikes), 1);
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::out_of_range);
  EXPECT_EQ(state(executor, kLikes), held);
  EXPECT_EQ(value(executor, kLikes), 1);
  // A reset that sees all of it frees it.
  reset(executor, kLikes);
  EXPECT_EQ(add(executor, kLikes, kMax).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), kMax);
}

// What no node says: a reset of a number that is still open.
TEST(Executor, does_not_start_a_cell_again_that_a_peer_cleared_before_it_was_sealed) {
  Executor executor = fresh_executor(1);
  const Applied applied = add(executor, kLikes, 7);
  Cell cell = state(executor, kLikes).cells.at(0);
  cell.cleared_commit = applied.commit;
  cell.cleared_sum = 7;
  executor.merge(said(kLikes, {.cells = {cell}}));
  EXPECT_EQ(value(executor, kLikes), 0);
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), 1);
}

// ---- reset ----

TEST(Executor, clears_what_it_holds_and_counts_on_from_zero) {
  Executor executor = fresh_executor(1);
  add(executor, kLikes, 7);
  executor.merge(said(kLikes, cell_of(1, 3, 100)));
  EXPECT_EQ(reset(executor, kLikes).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), 0);
  EXPECT_FALSE(exists(executor, kLikes));
  add(executor, kLikes, 2);
  EXPECT_EQ(value(executor, kLikes), 2);
  EXPECT_TRUE(exists(executor, kLikes));
}

TEST(Executor, changes_nothing_by_resetting_what_is_not_there_or_clear_already) {
  Executor executor = fresh_executor(1);
  EXPECT_EQ(reset(executor, kLikes).code, Code::ok);
  EXPECT_FALSE(executor.has_open());
  EXPECT_EQ(executor.map().ledger().size(), 0u);

  add(executor, kLikes, 1);
  const Applied first = reset(executor, kLikes);
  executor.seal();
  const Applied again = reset(executor, kLikes);
  EXPECT_FALSE(executor.has_open());
  EXPECT_EQ(again.commit, first.commit);
}

TEST(Executor, seals_an_open_cell_before_a_reset_names_its_number) {
  Executor executor = fresh_executor(1);
  add(executor, kLikes, 7);
  const Applied cleared = reset(executor, kLikes);
  const std::vector<Sealed> sealed = executor.take_sealed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(cells_of(record_of(sealed[0])).at(0).sum, 7);
  EXPECT_EQ(cleared.commit, Commit{2});

  add(executor, kLikes, 1);
  const Cell cell = state(executor, kLikes).cells.at(0);
  EXPECT_EQ(cell, (Cell{cell.actor, Commit{3}, 1, Commit{2}, 0}));
}

TEST(Executor, keeps_what_a_reset_elsewhere_did_not_see) {
  Executor one = fresh_executor(1);
  Executor two = fresh_executor(2);
  add(one, kLikes, 10);
  one.seal();
  two.merge(tell(one, {kLikes}));
  add(one, kLikes, 5);  // unseen by two
  reset(two, kLikes);
  two.seal();
  one.merge(tell(two, {kLikes}));
  EXPECT_EQ(value(one, kLikes), 5);
  one.seal();
  two.merge(tell(one, {kLikes}));
  EXPECT_EQ(value(two, kLikes), 5);
}

TEST(Executor, merges_two_concurrent_resets_into_one) {
  Executor one = fresh_executor(1);
  Executor two = fresh_executor(2);
  add(one, kLikes, 10);
  add(two, kLikes, 20);
  one.seal();
  two.seal();
  one.merge(tell(two, {kLikes}));
  two.merge(tell(one, {kLikes}));
  reset(one, kLikes);
  reset(two, kLikes);
  one.seal();
  two.seal();
  one.merge(tell(two, {kLikes}));
  two.merge(tell(one, {kLikes}));
  for (const Executor* executor : {&one, &two}) {
    EXPECT_EQ(value(*executor, kLikes), 0);
    EXPECT_FALSE(exists(*executor, kLikes));
  }
  EXPECT_EQ(state(one, kLikes), state(two, kLikes));
}

// ---- merge ----

TEST(Executor, records_what_it_merged_but_does_not_tell_it_on) {
  Executor executor = fresh_executor(1);
  Delta delta = said(kLikes, cell_of(1, 5, 100));
  delta.versions = {{StoreId{9}, BootId{8}, Commit{5}}};
  EXPECT_EQ(conflicts(executor, delta), 0u);
  EXPECT_EQ(value(executor, kLikes), 100);

  const std::vector<Sealed> sealed = seal(executor);
  const Record record = record_of(sealed.at(0));
  EXPECT_EQ(cells_of(record), cell_of(1, 5, 100).cells);
  EXPECT_EQ(record.delta.versions, delta.versions) << "in the same record as the cells";
  EXPECT_EQ(sealed[0].local, shards({}));
}

TEST(Executor, has_nothing_to_record_of_what_it_knew) {
  Executor executor = fresh_executor(1);
  Delta delta = said(kLikes, cell_of(1, 5, 100));
  delta.versions = {{StoreId{9}, BootId{8}, Commit{5}}};
  executor.merge(delta);
  executor.seal();
  executor.merge(delta);
  executor.merge(said(kLikes, cell_of(1, 4, 70)));
  EXPECT_FALSE(executor.has_open());
  EXPECT_EQ(value(executor, kLikes), 100);
}

TEST(Executor, reports_two_sums_under_one_number) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, cell_of(1, 5, 100)));
  EXPECT_EQ(conflicts(executor, said(kLikes, cell_of(1, 5, 99))), 1u);
  EXPECT_EQ(value(executor, kLikes), 100) << "a join all the same";
}

ShardState with_cells(std::uint64_t first_actor, std::size_t count) {
  ShardState state;
  for (std::uint64_t i = 0; i < count; ++i)
    state.cells.push_back({ActorId{first_actor + i}, Commit{1}, 1, {}, 0});
  return state;
}

TEST(Executor, refuses_a_state_that_would_have_too_many_cells_as_a_whole_and_says_so) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, with_cells(2, kMaxCells)));
  executor.seal();
  Delta delta;
  delta.push(kLikes,
             {.cells = {{ActorId{1}, Commit{1}, 1, {}, 0}, {ActorId{2}, Commit{9}, 100, {}, 0}}});
  delta.push(kViews, cell_of(1, 1, 1));
  EXPECT_EQ(executor.merge(delta), std::vector<Partition>{partition_of(executor, kLikes)});
  EXPECT_EQ(executor.conflicts(), 1u);
  EXPECT_EQ(value(executor, kLikes), static_cast<std::int64_t>(kMaxCells)) << "nothing of it";
  EXPECT_EQ(value(executor, kViews), 1) << "the others are taken";
  EXPECT_EQ(executor.merge(said(kLikes, cell_of(2, 9, 100))), std::vector<Partition>{})
      << "no more cells";
}

// Or its copies could be more than what merges, and never agree again.
TEST(Executor, begins_no_cell_in_a_shard_with_as_many_writers_as_there_may_be) {
  Executor executor = fresh_executor(1);
  executor.merge(said(kLikes, with_cells(1, kMaxWriters - 1)));
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::ok) << "the last";
  executor.seal();
  executor.forget_actor(partition_of(executor, kLikes));
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::out_of_range);
  EXPECT_FALSE(executor.has_actor(partition_of(executor, kLikes))) << "it changed nothing";
  EXPECT_EQ(add(executor, kViews, 1).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), static_cast<std::int64_t>(kMaxWriters));

  Executor apart = fresh_executor(2);
  apart.merge(said(kLikes, with_cells(100'000, kMaxWriters - 1)));
  EXPECT_EQ(add(apart, kLikes, 1).code, Code::ok);
  apart.seal();
  EXPECT_EQ(conflicts(executor, tell(apart, {kLikes})), 0u) << "two full copies merge";
}

TEST(Executor, goes_on_adding_to_a_cell_that_it_has_however_many_there_are) {
  Executor executor = fresh_executor(1);
  add(executor, kLikes, 1);
  executor.merge(said(kLikes, with_cells(1, kMaxCells - 1)));
  EXPECT_EQ(add(executor, kLikes, 1).code, Code::ok);
  EXPECT_EQ(value(executor, kLikes), static_cast<std::int64_t>(kMaxCells) + 1);
}

// ---- what is open takes memory ----

TEST(Executor, tells_about_how_much_waits_for_a_seal) {
  Executor executor = fresh_executor(1);
  EXPECT_EQ(executor.open_bytes(), 0u);
  for (int i = 0; i < 100; ++i) add(executor, {std::string(300, 'k') + std::to_string(i), 0}, 1);
  const std::size_t hundred = executor.open_bytes();
  EXPECT_GT(hundred, 30'000u);
  EXPECT_LT(hundred, 60'000u);
  for (int i = 0; i < 100; ++i) add(executor, {std::string(300, 'k') + std::to_string(i), 0}, 1);
  EXPECT_EQ(executor.open_bytes(), hundred) << "adds to what is open take nothing more";
  executor.seal();
  EXPECT_EQ(executor.open_bytes(), 0u);
}

// Pointers to what an entry outgrew live until the seal.
TEST(Executor, tells_what_merges_keep_of_one_shard_until_a_seal) {
  Executor executor = fresh_executor(1);
  for (std::uint64_t actor = 1; actor <= 100; ++actor)
    executor.merge(said(kLikes, cell_of(actor, 1, 1)));
  const std::size_t outgrown = executor.open_bytes();
  EXPECT_GT(outgrown, 20'000u);
  for (std::uint64_t commit = 2; commit <= 100; ++commit)
    executor.merge(said(kLikes, cell_of(9, commit, 1)));
  EXPECT_EQ(executor.open_bytes(), outgrown) << "in place";
  executor.seal();
  EXPECT_EQ(executor.open_bytes(), 0u);
}

TEST(Executor, tells_what_sessions_keep_until_a_seal) {
  Executor executor = fresh_executor(
      1, {.placement = {}, .tokens = {.window = 4, .sessions = 1}, .checkpoint = {}});
  for (int i = 0; i < 1000; ++i) (void)executor.issue_session();
  EXPECT_GT(executor.open_bytes(), 50'000u);
  executor.seal();
  EXPECT_EQ(executor.open_bytes(), 0u);
}

}  // namespace
}  // namespace quipu::test
