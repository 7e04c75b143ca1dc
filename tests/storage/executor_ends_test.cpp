// Counters that end, at one node: lives, records, what is at rest, and what is forgotten.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/storage/dated_executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/load_all.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Ends = DatedExecutor;

// ---- lives ----

TEST_F(Ends, a_counter_that_an_add_creates_lives_as_long_as_that_add_says) {
  EXPECT_EQ(add_for(kLikes, seconds(60)).total, 1);
  EXPECT_EQ(life().at, kToday + seconds(60));
  EXPECT_FALSE(life().once);
  pass(seconds(59));
  EXPECT_EQ(add_for(kLikes, seconds(60)).total, 2) << "it exists: the second ttl says nothing";
  EXPECT_EQ(life().at, kToday + seconds(60));
  pass(seconds(1));
  EXPECT_EQ(value_now(), 0);
  EXPECT_EQ(add_for(kLikes, seconds(60)).total, 1) << "a new life";
  EXPECT_EQ(life().ended, kToday + seconds(60));
  EXPECT_EQ(life().at, kToday + seconds(120));
}

TEST_F(Ends, the_add_and_its_deadline_are_in_one_record) {
  add_for(kLikes, seconds(60));
  const std::vector<Sealed> sealed = seal(executor_);
  bool found = false;
  record_of(sealed.back()).delta.for_each([&](const DeltaEntry& entry) {
    found = true;
    EXPECT_EQ(entry.life.at, kToday + seconds(60));
    ASSERT_EQ(entry.cells.size(), 1u);
    EXPECT_EQ(entry.cells[0].born, kToday);
  });
  EXPECT_TRUE(found);
}

TEST_F(Ends, expire_sets_moves_and_takes_back_an_end) {
  add(executor_, kLikes, 5);
  EXPECT_EQ(expire(kLikes, kToday + seconds(100)).code, Code::ok);
  EXPECT_EQ(life().at, kToday + seconds(100));
  EXPECT_EQ(expire(kLikes, kToday + seconds(50)).code, Code::ok);
  EXPECT_EQ(life().at, kToday + seconds(50));
  EXPECT_EQ(life().latest, kToday + seconds(100));
  EXPECT_EQ(expire(kLikes, Wall{}).code, Code::ok);
  EXPECT_FALSE(in_force(life()));
  pass(seconds(200));
  EXPECT_EQ(value_now(), 5);
}

TEST_F(Ends, the_same_deadline_once_more_at_one_moment_changes_nothing) {
  add_for(kLikes, seconds(60));
  const Life before = life();
  for (int i = 0; i < 1000; ++i) expire(kLikes, kToday + seconds(60));
  EXPECT_EQ(life(), before) << "its stamp is that of the clock";
  pass(milliseconds(1));
  expire(kLikes, kToday + seconds(60));
  EXPECT_EQ(life().stamp, today_.wall);
}

TEST_F(Ends, an_expire_in_the_past_ends_the_counter_at_once) {
  add(executor_, kLikes, 5);
  EXPECT_EQ(expire(kLikes, kToday).code, Code::ok);
  EXPECT_EQ(value_now(), 0);
  EXPECT_FALSE(exists(executor_, kLikes));
  EXPECT_EQ(add(executor_, kLikes, 7).total, 7);
  EXPECT_EQ(value_now(), 7);
}

TEST_F(Ends, an_expire_of_what_is_not_there_changes_nothing) {
  EXPECT_EQ(expire(kLikes, kToday + seconds(1)).code, Code::ok);
  EXPECT_FALSE(is_held());
  add_for(kLikes, seconds(1));
  pass(seconds(2));
  const Life before = life();
  EXPECT_EQ(expire(kLikes, today_.wall + seconds(9)).code, Code::ok);
  EXPECT_EQ(life(), before) << "it had ended";
}

TEST_F(Ends, a_counter_that_is_spread_has_no_end) {
  executor_.merge(said(kLikes, {{}, 4, 4}));
  add(executor_, kLikes, 1);
  EXPECT_EQ(expire(kLikes, kToday + seconds(1)).code, Code::invalid_argument);
  EXPECT_TRUE(is_plain(state(executor_, kLikes)));
}

// Another node's clock may be ahead: then the end lies ahead of this node's date.
TEST_F(Ends, a_time_to_live_counts_from_the_end_where_that_is_later) {
  executor_.merge(said(kLikes, {{}, 1, 1, {.ended = kToday + seconds(1)}}));
  add_for(kLikes, milliseconds(500));
  EXPECT_EQ(life().at, kToday + milliseconds(1500));
  EXPECT_TRUE(in_force(life()));
  EXPECT_EQ(state(executor_, kLikes).cells[0].born, kToday + seconds(1));
  EXPECT_EQ(expire(kLikes, kToday + milliseconds(700)).code, Code::ok) << "not later than the end";
  EXPECT_EQ(value_now(), 0);
}

TEST_F(Ends, a_reset_ends_the_life_and_what_it_did_not_see) {
  add_for(kLikes, seconds(60), 5);
  pass(seconds(1));
  reset(executor_, kLikes);
  EXPECT_EQ(value_now(), 0);
  EXPECT_EQ(life().ended, today_.wall);
  const ShardState unseen{{Cell{ActorId{9}, Commit{1}, 8, {}, 0, kToday}},
                          1,
                          1,
                          {.at = kToday + seconds(60), .latest = kToday + seconds(60)}};
  executor_.merge(said(kLikes, unseen));
  EXPECT_EQ(value_now(), 0);
  EXPECT_NE(executor_.take_outdated(), ShardList{}) << "the owners must learn of the end";
  EXPECT_EQ(add(executor_, kLikes, 2).total, 2) << "the new life has no deadline";
}

TEST_F(Ends, a_retry_with_its_token_is_answered_and_changes_nothing) {
  const Serial serial = executor_.issue_session();
  const Token token{executor_.meta().store, serial, 1, 0};
  Change add{.kind = OpKind::add, .ref = kLikes, .amount = 3, .token = token};
  add.ttl = seconds(60);
  EXPECT_EQ(apply(executor_, add).code, Code::ok);
  pass(seconds(61));
  EXPECT_EQ(apply(executor_, add).code, Code::ok);
  EXPECT_EQ(value_now(), 0) << "it counted in the life that ended";
  add.ttl = seconds(61);
  EXPECT_EQ(apply(executor_, add).code, Code::token_reused);
}

// ---- a clock that is not trusted ----

TEST_F(Ends, who_does_not_know_the_date_changes_no_counter_that_ends) {
  add_for(kLikes, seconds(60));
  add(executor_, kViews, 1);
  today_.trusted = false;
  EXPECT_EQ(add(executor_, kLikes, 1).code, Code::unavailable);
  EXPECT_EQ(reset(executor_, kLikes).code, Code::unavailable);
  EXPECT_EQ(expire(kViews, kToday + seconds(9)).code, Code::unavailable);
  EXPECT_EQ(add_for({"other:2", 0}, seconds(9)).code, Code::unavailable);
  EXPECT_EQ(add(executor_, kViews, 1).code, Code::ok) << "plain counters never notice";
  EXPECT_EQ(add(executor_, {"other:1", 0}, 1).code, Code::ok);
  EXPECT_EQ(add(executor_, {"new", 0}, 1).code, Code::unavailable)
      << "others without ':' have ended here, so it needs a birth";
  pass(seconds(100));
  EXPECT_EQ(total(state(executor_, kLikes).cells).sum, 1) << "and nothing ends";
}

TEST_F(Ends, a_refusal_for_want_of_a_date_is_not_noted_with_the_token) {
  add_for(kLikes, seconds(60));
  const Token token{executor_.meta().store, executor_.issue_session(), 1, 0};
  today_.trusted = false;
  EXPECT_EQ(add(executor_, kLikes, 1, token).code, Code::unavailable);
  today_.trusted = true;
  EXPECT_EQ(add(executor_, kLikes, 1, token).code, Code::ok);
  EXPECT_EQ(value_now(), 2);
}

// ---- plain or not ----

TEST_F(Ends, a_new_counter_has_a_birth_where_one_of_its_prefix_had_an_end) {
  add(executor_, {"hits:a", 0}, 1);
  EXPECT_TRUE(is_plain(state(executor_, {"hits:a", 0})));
  add_for({"hits:b", 0}, seconds(9));
  add(executor_, {"hits:c", 0}, 1);
  EXPECT_EQ(state(executor_, {"hits:c", 0}).cells[0].born, kToday);
  EXPECT_TRUE(is_plain(state(executor_, {"hits:a", 0}))) << "what is plain stays plain";
  add(executor_, {"views:c", 0}, 1);
  EXPECT_TRUE(is_plain(state(executor_, {"views:c", 0})));
}

TEST_F(Ends, once_is_known_of_what_a_record_showed_without_a_deadline) {
  add(executor_, kLikes, 1);
  expire(kLikes, kToday + seconds(9));
  EXPECT_FALSE(life().once) << "it began in the open record";
  seal(executor_);
  EXPECT_FALSE(life().once);
  add(executor_, {"a:1", 0}, 1);
  seal(executor_);
  expire({"a:1", 0}, kToday + seconds(9));
  EXPECT_TRUE(life({"a:1", 0}).once) << "it was shown before it had an end";
  add(executor_, {"a:2", 0}, 1);  // with a birth
  seal(executor_);
  EXPECT_TRUE(life({"a:2", 0}).once);
  add_for({"a:3", 0}, seconds(9));
  expire({"a:3", 0}, Wall{});
  seal(executor_);
  EXPECT_TRUE(life({"a:3", 0}).once);
}

// ---- what a peer sends ----

TEST_F(Ends, a_stale_copy_ends_before_it_is_merged) {
  const ShardState stale{
      {Cell{ActorId{9}, Commit{1}, 8, {}, 0, kToday - seconds(99)}},
      1,
      1,
      {.stamp = kToday - seconds(99), .at = kToday - seconds(5), .latest = kToday - seconds(5)}};
  executor_.merge(said(kLikes, stale));
  EXPECT_EQ(value_now(), 0);
  EXPECT_FALSE(exists(executor_, kLikes));
  EXPECT_TRUE(is_held()) << "the end is young";
  seal(executor_);
  pass(seconds(60));
  sweep();
  EXPECT_FALSE(is_held());
  executor_.merge(said(kLikes, stale));
  EXPECT_FALSE(is_held()) << "it was forgotten, and stays so";
}

TEST_F(Ends, the_actor_is_not_doubted_for_a_cell_of_a_life_that_ended) {
  add_for(kLikes, seconds(60), 5);
  seal(executor_);
  ShardState old = state(executor_, kLikes);
  add(executor_, kLikes, 1);
  seal(executor_);
  pass(seconds(61));
  add_for(kLikes, seconds(60), 1);  // born later, under a later number, with a lesser sum
  seal(executor_);
  executor_.merge(said(kLikes, old));
  EXPECT_TRUE(executor_.has_actor(partition_of(executor_, kLikes)));
  pass(seconds(61 + 20));
  sweep();
  EXPECT_FALSE(is_held());
  executor_.merge(said(kLikes, old));
  EXPECT_TRUE(executor_.has_actor(partition_of(executor_, kLikes))) << "it ends by itself";
  ShardState later = old;
  later.cells[0].born = today_.wall;
  later.life.at = later.life.latest = today_.wall + seconds(9);
  executor_.merge(said(kLikes, later));
  EXPECT_FALSE(executor_.has_actor(partition_of(executor_, kLikes))) << "that one was lost here";
}

// ---- digests and counts ----

TEST_F(Ends, what_is_spent_is_in_no_digest_and_no_count) {
  const Partition partition = partition_of(executor_, kLikes);
  add_for(kLikes, seconds(60));
  seal(executor_);
  EXPECT_NE(executor_.map().ledger().digest(partition), Hash128{});
  EXPECT_EQ(executor_.map().ledger().counters(partition), 1u);
  pass(seconds(60));
  sweep();
  EXPECT_TRUE(is_held());
  EXPECT_EQ(executor_.map().ledger().spent(), 1u);
  EXPECT_EQ(executor_.map().ledger().digest(partition), Hash128{});
  EXPECT_EQ(executor_.map().ledger().counters(partition), 0u);
  EXPECT_FALSE(executor_.has_open()) << "each copy ends by itself: that needs no record";
  pass(seconds(10));
  sweep();
  EXPECT_FALSE(is_held());
  EXPECT_EQ(executor_.map().ledger().spent(), 0u);
  EXPECT_EQ(executor_.map().ledger().size(), 0u);
  EXPECT_EQ(executor_.map().ledger().dirty(), 0u);
  EXPECT_FALSE(executor_.has_open()) << "no checkpoint put it, so nothing is deleted";
}

TEST_F(Ends, each_counter_whose_deadline_passes_is_counted_once) {
  const ShardRef over{"over", 0}, added{"added", 0}, forgotten{"forgotten", 0}, moved{"moved", 0};
  for (const ShardRef& ref : {over, added, forgotten, moved}) (void)add_for(ref, seconds(10));
  (void)expire(moved, today_.wall + seconds(1000));
  (void)apply(executor_, {.kind = OpKind::reset, .ref = moved});
  executor_.seal();
  EXPECT_EQ(executor_.ended(), 0u);
  pass(seconds(11));
  (void)add_for(added, seconds(1000));
  (void)apply(executor_, {.kind = OpKind::reset, .ref = over});  // finds nothing to reset
  EXPECT_EQ(executor_.ended(), 1u);
  executor_.seal();
  pass(seconds(100));
  sweep();
  sweep();
  EXPECT_EQ(executor_.ended(), 3u);
  EXPECT_FALSE(is_held(forgotten));
}

TEST_F(Ends, a_copy_is_not_forgotten_while_another_may_end_later) {
  add_for(kLikes, seconds(3600));
  expire(kLikes, kToday + seconds(1));
  seal(executor_);
  const Partition partition = partition_of(executor_, kLikes);
  const auto swept_alone = [&] { (void)executor_.sweep(partition, {}); };
  pass(seconds(100));
  for (int i = 0; i < 3; ++i) swept_alone();
  EXPECT_TRUE(is_held());
  pass(seconds(3600));
  swept_alone();
  EXPECT_FALSE(is_held());
}

TEST_F(Ends, what_was_shown_without_a_deadline_waits_until_all_owners_know_its_end) {
  add(executor_, kLikes, 1);
  seal(executor_);
  expire(kLikes, kToday + seconds(1));
  seal(executor_);
  const Partition partition = partition_of(executor_, kLikes);
  pass(seconds(100));
  const auto swept = [&](Executor::Settled settled) {
    pass(seconds(2));
    const std::size_t offered = [&] {
      std::size_t count = 0;
      executor_.sweep(partition, settled).for_each([&](const ShardRef&) { ++count; });
      return count;
    }();
    return offered;
  };
  EXPECT_EQ(swept({}), 0u) << "it is realized";
  EXPECT_EQ(swept({}), 0u) << "an owner is away";
  EXPECT_EQ(swept({.room = 100}), 1u);
  EXPECT_EQ(swept({.room = 100}), 0u) << "it is on its way";
  EXPECT_EQ(swept({.lost = true, .room = 100}), 1u) << "it was lost on its way";
  EXPECT_EQ(swept({.offered = true, .room = 100}), 0u) << "a member has not spoken since";
  EXPECT_TRUE(is_held());
  EXPECT_EQ(swept({.offered = true, .room = 100, .heard_until = kToday + seconds(20)}), 0u);
  EXPECT_FALSE(is_held());
}

TEST_F(Ends, a_sweep_offers_no_more_than_outboxes_have_room_for) {
  const Partition partition = partition_of(executor_, kLikes);
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 5; ++i) {
    const std::string key = "likes:" + std::to_string(i);
    if (partition_of(executor_, {key, 0}) == partition) keys.push_back(key);
  }
  for (const std::string& key : keys) {
    add(executor_, {key, 0}, 1);
    seal(executor_);
    expire({key, 0}, kToday + seconds(1));
  }
  seal(executor_);
  pass(seconds(100));
  const auto swept = [&](Executor::Settled settled) {
    pass(seconds(2));
    std::size_t offered = 0;
    executor_.sweep(partition, settled).for_each([&](const ShardRef&) { ++offered; });
    return offered;
  };
  EXPECT_EQ(swept({}), 0u) << "they are realized";
  EXPECT_EQ(swept({.room = 3}), 3u);
  EXPECT_EQ(swept({.room = 1}), 1u);
  // The rest of what was lost is offered as if it had not been before.
  EXPECT_EQ(swept({.lost = true, .room = 2}), 2u);
  EXPECT_EQ(swept({.room = 100}), 3u);
  EXPECT_EQ(swept({.offered = true, .room = 100, .heard_until = kToday + seconds(200)}), 0u);
  for (const std::string& key : keys) EXPECT_FALSE(is_held({key, 0}));
}

// ---- at rest ----

TEST(EndsAtRest, what_a_checkpoint_put_is_deleted_and_comes_back_only_as_what_has_ended) {
  MemoryDisk disk = new_disk();
  Today today;
  auto executor = std::move(*start(disk, kTiny));
  executor->judge_dates_by(today);
  Change change{.kind = OpKind::add, .ref = kLikes, .amount = 5};
  change.ttl = seconds(60);
  apply(*executor, change);
  const std::string name = stored::shard(executor->map().place(kLikes), kLikes);
  do {
    add(*executor, kViews, 1);
    write(disk, seal(*executor));
  } while (!disk.durable.contains(name));
  // A start that knows no date shows it as it was.
  {
    MemoryDisk copy = disk;
    const auto again = std::move(*start(copy, kTiny, 2));
    EXPECT_EQ(value(*again, kLikes), 5);
    EXPECT_EQ(state(*again, kLikes).life.at, kToday + seconds(60));
  }
  today.wall += seconds(80);
  const Partition partition = partition_of(*executor, kLikes);
  const Executor::Settled alone{.offered = true, .room = 100, .heard_until = today.wall};
  (void)executor->sweep(partition, alone);
  EXPECT_TRUE(executor->has_open()) << "the delete is due";
  // It is counted again before that delete is written.
  change.amount = 7;
  apply(*executor, change);
  while (executor->has_open() || executor->checkpointing()) write(disk, seal(*executor));
  const auto again = std::move(*start(disk, kTiny, 3));
  again->judge_dates_by(today);
  ShardState held = state(*again, kLikes);
  realize(held, today.wall);
  EXPECT_EQ(total(held.cells).sum, 7);
  today.wall += seconds(80);
  for (int i = 0; i < 2; ++i) (void)again->sweep(partition, alone);
  while (again->has_open() || again->checkpointing()) write(disk, seal(*again));
  EXPECT_FALSE(disk.durable.contains(name));
}

TEST(EndsAtRest, later_adds_are_journaled_by_alias_and_replayed_into_their_life) {
  MemoryDisk disk = new_disk();
  Today today;
  auto executor = std::move(*start(disk, {}));
  executor->judge_dates_by(today);
  Change change{.kind = OpKind::add, .ref = kLikes, .amount = 5};
  change.ttl = seconds(60);
  apply(*executor, change);
  write(disk, seal(*executor));
  const std::size_t named = disk.durable.at(stored::record(executor->sealed())).size();
  add(*executor, kLikes, 1);
  write(disk, seal(*executor));
  EXPECT_LT(disk.durable.at(stored::record(executor->sealed())).size(), named / 2);
  today.wall += seconds(61);
  apply(*executor, change);  // a new life: by name again
  write(disk, seal(*executor));
  add(*executor, kLikes, 2);
  write(disk, seal(*executor));
  const auto again = std::move(*start(disk, {}, 2));
  EXPECT_EQ(state(*again, kLikes), state(*executor, kLikes));
  EXPECT_EQ(value(*again, kLikes), 7);
  EXPECT_TRUE(again->prefixes().holds_prefix_of("likes"));
  EXPECT_FALSE(again->prefixes().holds_prefix_of("likes:1"));
}

// A deadline passes without a record, so a start reads the record of the next life beside those of
// the one before.
TEST(EndsAtRest, a_start_keeps_the_lives_of_a_counter_apart) {
  MemoryDisk disk = new_disk();
  Today today;
  auto executor = std::move(*start(disk));
  executor->judge_dates_by(today);
  Change change{.kind = OpKind::add, .ref = kLikes, .amount = 1};
  change.ttl = seconds(60);
  apply(*executor, change);
  write(disk, seal(*executor));
  ShardState others = state(*executor, kLikes);
  others.cells = {Cell{ActorId{9}, Commit{1}, 100, {}, 0, today.wall + seconds(1)}};
  executor->merge(said(kLikes, others));
  write(disk, seal(*executor));
  today.wall += seconds(75);
  (void)executor->sweep(partition_of(*executor, kLikes), {});
  apply(*executor, change);
  write(disk, seal(*executor));
  const auto again = std::move(*start(disk, {}, 2));
  EXPECT_EQ(value(*again, kLikes), 1);
  EXPECT_EQ(value(*executor, kLikes), 1);
}

// The same without a date: the next life's birth shows that the older deadline has passed.
TEST_F(Ends, who_does_not_know_the_date_keeps_lives_apart) {
  add_for(kLikes, seconds(60), 5);
  seal(executor_);
  today_.trusted = false;
  const Wall later = kToday + seconds(100);
  const ShardState next{{Cell{ActorId{9}, Commit{1}, 7, {}, 0, later}},
                        1,
                        1,
                        {.stamp = later, .at = later + seconds(60), .latest = later + seconds(60)}};
  executor_.merge(said(kLikes, next));
  EXPECT_EQ(value(executor_, kLikes), 7);
}

TEST_F(Ends, who_does_not_know_the_date_goes_by_the_birth_of_a_life_without_a_deadline) {
  add_for(kLikes, seconds(60), 5);
  seal(executor_);
  today_.trusted = false;
  const ShardState next{
      {Cell{ActorId{9}, Commit{1}, 7, {}, 0, kToday + seconds(100)}}, 1, 1, {.once = true}};
  executor_.merge(said(kLikes, next));
  EXPECT_EQ(value(executor_, kLikes), 7);
  pass(seconds(200));
  today_.trusted = true;
  EXPECT_EQ(value_now(), 7);
}

TEST_F(Ends, at_the_end_of_time_an_add_is_refused) {
  executor_.merge(said(kLikes, {{}, 1, 1, {.ended = kLatestDate}}));
  EXPECT_EQ(add_for(kLikes, seconds(1)).code, Code::out_of_range);
}

// Else a node that owns nothing of a counter would bring it back after its owners forgot its end.
TEST(EndsAtRest, a_partition_that_was_given_up_does_not_come_back_from_the_journal) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  add(*executor, kLikes, 5);
  add(*executor, kViews, 7);
  write(disk, seal(*executor));
  executor->drop(partition_of(*executor, kLikes));
  write(disk, executor->take_sealed());
  const auto again = std::move(*start(disk, {}, 2));
  EXPECT_FALSE(exists(*again, kLikes));
  EXPECT_EQ(value(*again, kViews), 7);
  EXPECT_EQ(again->map().ledger().size(), 1u);
}

TEST(EndsAtRest, what_was_evicted_is_forgotten_once_it_is_read_back) {
  MemoryDisk disk = new_disk();
  ExecutorOptions options = kTiny;
  options.memory = {1, Partitions::all()};
  Today today;
  auto executor = std::move(*start(disk, options));
  executor->judge_dates_by(today);
  const Partition partition = partition_of(*executor, kLikes);
  Change change{.kind = OpKind::add, .ref = kLikes, .amount = 5};
  change.ttl = seconds(60);
  apply(*executor, change);
  while (executor->map().ledger().dirty() > 0 || executor->has_open()) write(disk, seal(*executor));
  for (int chance = 0; chance < 2; ++chance) executor->evict(partition, executor->sealed());
  const Placement place = executor->map().place(kLikes);
  ASSERT_FALSE(executor->map().resident(place, kLikes));
  today.wall += seconds(80);
  MemoryStore store(disk);
  const auto bring = [&] {
    executor->restore(
        load_all(store, executor->map().placement_key(), {1, {}, {{partition, place.leaf()}}})
            .value());
  };
  // Without set_resident: only the shard, so that its leaf still lacks others.
  executor->restore(load_all(store, executor->map().placement_key(), {1, {kLikes}, {}}).value());
  const Executor::Settled alone{.offered = true, .room = 100, .heard_until = today.wall};
  (void)executor->sweep(partition, alone);
  EXPECT_EQ(executor->map().ledger().size(partition), 0u);
  bring();  // a load that was asked for before the delete is durable
  EXPECT_EQ(executor->map().ledger().size(partition), 0u);
  EXPECT_FALSE(exists(*executor, kLikes));
  while (executor->has_open()) write(disk, seal(*executor));
  EXPECT_FALSE(disk.durable.contains(stored::shard(place, kLikes)));
}

}  // namespace
}  // namespace quipu::test
