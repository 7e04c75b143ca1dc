// A value in place of all that a counter was (SET), at one node, and several changes with one
// token.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/storage/dated_executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Setting : public DatedExecutor {
 protected:
  Applied set(ShardRef ref, const NewValue& wanted) {
    return executor_.set(ref, wanted, executor_.map().place(ref));
  }
};

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST_F(Setting, changes_together_are_one_write_though_they_need_several_records) {
  const ShardRef other{"other", 0}, third{"third", 0};
  add(executor_, kLikes, 1);
  executor_.seal();
  (void)executor_.take_sealed();
  executor_.together([&] {
    add(executor_, third, 1);
    set(kLikes, {.value = 7});
    set(kLikes, {.value = 8});  // needs a record of its own
    set(kLikes, {.value = 9});
    add(executor_, other, 2);
  });
  EXPECT_FALSE(executor_.has_open()) << "the last part must not wait for another event";
  const std::vector<Sealed> sealed = executor_.take_sealed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_GT(sealed[0].records, 1u);
  EXPECT_EQ(sealed[0].commit, executor_.sealed());
  std::set<std::string> told;
  sealed[0].local.for_each([&](const ShardRef& ref) { told.emplace(ref.key); });
  EXPECT_EQ(told, (std::set<std::string>{"likes", "other", "third"}));
  executor_.together([&] { add(executor_, other, 2); });
  EXPECT_TRUE(executor_.has_open()) << "what fits into the open record stays there";
}

TEST_F(Setting, a_new_counter_gets_the_value_and_stays_plain) {
  const Applied applied = set(kLikes, {.value = 7});
  EXPECT_EQ(applied.code, Code::ok);
  EXPECT_EQ(applied.total, 7);
  EXPECT_TRUE(is_plain(state(executor_, kLikes)));
  EXPECT_EQ(set(kLikes, {.value = 0}).total, 0);
  EXPECT_TRUE(exists(executor_, kLikes)) << "a counter may be 0";
}

TEST_F(Setting, any_value_fits_after_any_other) {
  for (const std::int64_t one : {kMost, kLeast, std::int64_t{0}, std::int64_t{5}}) {
    for (const std::int64_t other : {kMost, kLeast, std::int64_t{-1}}) {
      EXPECT_EQ(set(kLikes, {.value = one}).total, one);
      EXPECT_EQ(set(kLikes, {.value = other}).total, other);
      executor_.seal();
      EXPECT_EQ(set(kLikes, {.value = one}).total, one);
      EXPECT_EQ(value(executor_, kLikes), one);
    }
  }
}

// A crash before the record keeps the old value, one after it the new one.
TEST_F(Setting, the_old_value_goes_in_the_record_that_brings_the_new_one) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  const auto put = [&](std::int64_t amount) {
    add(*executor, kLikes, amount);
    return executor->set(kLikes, {.value = 3}, executor->map().place(kLikes));
  };
  add(*executor, kLikes, 100);
  write(disk, seal(*executor));
  EXPECT_EQ(put(11).total, 3);
  const std::vector<Sealed> records = seal(*executor);
  ASSERT_GE(records.size(), 2u) << "what was open is sealed before a reset names its number";
  for (const Sealed& record : records) {
    const std::int64_t expected = &record == &records.back() ? 3 : 111;
    write(disk, {record});
    MemoryDisk copy = disk;
    EXPECT_EQ(value(**start(copy), kLikes), expected) << raw(record.commit);
  }
}

TEST_F(Setting, without_an_end_it_keeps_what_this_node_has_not_seen) {
  add(executor_, kLikes, 5);
  executor_.seal();
  set(kLikes, {.value = 2});
  executor_.merge(said(kLikes, cell_of(9, 1, 40)));
  EXPECT_EQ(value(executor_, kLikes), 42);
}

TEST_F(Setting, with_an_end_it_ends_what_this_node_has_not_seen) {
  add(executor_, kLikes, 5);
  executor_.seal();
  EXPECT_EQ(set(kLikes, {.value = 2, .ttl = seconds(60)}).total, 2);
  EXPECT_EQ(life().at, kToday + seconds(60));
  EXPECT_TRUE(life().once) << "a record showed it without a deadline";
  executor_.merge(said(kLikes, cell_of(9, 1, 40)));
  EXPECT_EQ(value_now(), 2);
  pass(seconds(60));
  EXPECT_EQ(value_now(), 0);
}

TEST_F(Setting, a_new_counter_with_an_end_was_never_shown_without) {
  set(kLikes, {.value = 2, .at = kToday + seconds(60)});
  EXPECT_FALSE(life().once);
  set({"views", 0}, {.value = 1});
  set({"views", 0}, {.value = 2, .ttl = seconds(1)});
  EXPECT_FALSE(life({"views", 0}).once) << "it began in the open record";
}

TEST_F(Setting, a_new_value_begins_a_new_life_without_the_old_deadline) {
  add_for(kLikes, seconds(60), 5);
  pass(seconds(1));
  EXPECT_EQ(set(kLikes, {.value = 9}).total, 9);
  EXPECT_FALSE(in_force(life()));
  EXPECT_EQ(life().ended, today_.wall);
  pass(seconds(600));
  EXPECT_EQ(value_now(), 9);
  EXPECT_EQ(add(executor_, kLikes, 1).total, 10);
}

// Two in one millisecond: what belongs to which life is still told by the births.
TEST_F(Setting, each_value_of_one_moment_replaces_the_one_before) {
  for (std::int64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(set(kLikes, {.value = i, .ttl = seconds(60)}).total, i);
    EXPECT_EQ(value_now(), i);
    if (i % 2 == 0) executor_.seal();
  }
}

// Births and stamps that run ahead of the clock would move every later deadline.
TEST_F(Setting, thousands_in_one_millisecond_do_not_run_ahead_of_the_clock) {
  set(kLikes, {.value = 1, .ttl = seconds(60)});
  executor_.seal();
  for (std::int64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(set(kLikes, {.value = i, .ttl = seconds(60)}).total, i);
  }
  EXPECT_LE(life().stamp, kToday + milliseconds(2));
  for (std::int64_t i = 0; i < 5000; ++i) {
    reset(executor_, kLikes);
    set(kLikes, {.value = i, .ttl = seconds(60)});
  }
  EXPECT_EQ(set(kLikes, {.value = 7, .ttl = seconds(60)}).total, 7);
  EXPECT_LE(life().at, kToday + seconds(60) + milliseconds(2));
  executor_.seal();
  EXPECT_EQ(value_now(), 7);
  const ShardState unseen = cell_of(9, 1, 40);
  executor_.merge(said(kLikes, unseen));
  EXPECT_EQ(value_now(), 7);
}

// A node that missed the end still holds the old deadline, which that end has made void.
TEST_F(Setting, an_old_deadline_does_not_end_the_life_behind_a_value) {
  const ShardState missed{
      {Cell{ActorId{9}, Commit{1}, 1, {}, 0, kToday}},
      1,
      1,
      {.stamp = kToday, .at = kToday + seconds(14), .latest = kToday + seconds(14)}};
  executor_.merge(said(kLikes, missed));
  Executor other = fresh_executor(2);
  other.judge_dates_by(today_);
  other.merge(said(kLikes, missed));
  pass(seconds(3));
  set(kLikes, {.value = 2});
  add(executor_, kLikes, 5);
  executor_.seal();
  pass(seconds(20));
  executor_.merge(said(kLikes, missed));
  EXPECT_EQ(value_now(), 7);
  other.merge(tell(executor_, {kLikes}));
  EXPECT_EQ(value(other, kLikes), 7);
}

TEST_F(Setting, a_time_that_has_passed_ends_it_at_once) {
  set(kLikes, {.value = 9, .at = kToday});
  EXPECT_FALSE(is_held()) << "nothing was there";
  add(executor_, kLikes, 5);
  set(kLikes, {.value = 9, .at = kToday - seconds(1)});
  EXPECT_EQ(value_now(), 0);
  EXPECT_EQ(add(executor_, kLikes, 1).total, 1);
}

TEST_F(Setting, who_does_not_know_the_date_sets_only_what_is_plain_and_stays_so) {
  add_for(kLikes, seconds(60), 5);
  executor_.seal();
  today_.trusted = false;
  EXPECT_EQ(set(kLikes, {.value = 1}).code, Code::unavailable);
  EXPECT_EQ(set({"views", 0}, {.value = 1, .ttl = seconds(1)}).code, Code::unavailable);
  EXPECT_FALSE(executor_.has_open()) << "nothing was changed";
  EXPECT_EQ(set({"page:1", 0}, {.value = 1}).code, Code::ok) << "nothing of its prefix ever ended";
}

TEST_F(Setting, a_counter_that_is_spread_is_refused) {
  executor_.merge(said(kLikes, {{}, 4, 4}));
  EXPECT_EQ(set(kLikes, {.value = 1}).code, Code::invalid_argument);
  EXPECT_EQ(set(kLikes, {.value = 1, .ttl = seconds(1)}).code, Code::invalid_argument);
  EXPECT_EQ(value(executor_, kLikes), 0);
}

TEST_F(Setting, a_counter_with_too_many_writers_keeps_its_value) {
  ShardState crowded;
  for (std::uint64_t i = 1; i <= kMaxWriters; ++i)
    crowded.cells.push_back({ActorId{i}, Commit{1}, 1, {}, 0});
  executor_.merge(said(kLikes, crowded));
  EXPECT_EQ(set(kLikes, {.value = 1}).code, Code::out_of_range);
  EXPECT_EQ(value(executor_, kLikes), static_cast<std::int64_t>(kMaxWriters));
}

// ---- several changes with one token ----

TEST_F(Setting, what_one_token_names_is_carried_out_once) {
  const Token token{executor_.meta().store, executor_.issue_session(), 1, 0};
  const Partition partition = executor_.map().place(kLikes).partition();
  int times = 0;
  const auto carry_out = [&] {
    ++times;
    add(executor_, kLikes, 1);
    set({"views", 0}, {.value = 4});
  };
  EXPECT_EQ(executor_.once(token, 7, partition, Code::overloaded, carry_out).code,
            Code::overloaded);
  EXPECT_EQ(times, 0) << "and a refusal for now leaves no trace";
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(executor_.once(token, 7, partition, Code::ok, carry_out).code, Code::ok);
  EXPECT_EQ(times, 1);
  EXPECT_EQ(executor_.once(token, 8, partition, Code::ok, carry_out).code, Code::token_reused);
  EXPECT_EQ(executor_.once(token, 7, partition, Code::overloaded, carry_out).code, Code::ok)
      << "a retry is answered, whatever would refuse it now";
}

// The record that cancels the old deadline may hold later changes, too.
TEST_F(Setting, a_start_keeps_a_value_that_came_before_the_old_deadline) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  executor->judge_dates_by(today_);
  const Placement placement = executor->map().place(kLikes);
  executor->set(kLikes, {.value = 5, .at = kToday + seconds(25)}, placement);
  write(disk, seal(*executor));
  pass(seconds(24));
  executor->set(kLikes, {.value = 7, .ttl = seconds(20)}, placement);
  pass(seconds(3));
  apply(*executor, {.kind = OpKind::expire,
                    .ref = kLikes,
                    .amount = (kToday + seconds(90)).time_since_epoch().count()});
  write(disk, seal(*executor));
  EXPECT_EQ(value(**start(disk), kLikes), 7);
}

// ---- any order of changes ----

// As a counter of one node behaves that never crashes.
struct Expected {
  std::optional<std::int64_t> value;
  Wall ends{};

  void look(Wall date) {
    if (ends != Wall{} && ends <= date) *this = {};
  }
};

RC_GTEST_PROP(SetAndExpire, have_the_values_of_a_counter_that_is_written_down, ()) {
  MemoryDisk disk = new_disk();
  Today today;
  auto executor = std::move(*start(disk));
  executor->judge_dates_by(today);
  const Placement placement = executor->map().place(kLikes);
  Expected expected;
  const auto any_end = [&] {
    return today.wall + milliseconds(*rc::gen::inRange<std::int64_t>(-5, 50));
  };
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    expected.look(today.wall);
    const std::int64_t amount = *rc::gen::inRange<std::int64_t>(-9, 10);
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        RC_ASSERT(add(*executor, kLikes, amount).total == expected.value.value_or(0) + amount);
        expected.value = expected.value.value_or(0) + amount;
        break;
      case 1:
        RC_ASSERT(executor->set(kLikes, {.value = amount}, placement).code == Code::ok);
        expected = {amount};
        break;
      case 2: {
        const auto ttl = milliseconds(*rc::gen::inRange<std::int64_t>(1, 50));
        const Wall from = std::max(today.wall, state(*executor, kLikes).life.ended);
        RC_ASSERT(executor->set(kLikes, {.value = amount, .ttl = ttl}, placement).code == Code::ok);
        const Wall ends = state(*executor, kLikes).life.at;
        RC_ASSERT(ends >= from + ttl && ends <= from + ttl + milliseconds(40));
        expected = {amount, ends};
        break;
      }
      case 3: {
        const Wall at = any_end();
        const Wall ended = state(*executor, kLikes).life.ended;
        apply(*executor,
              {.kind = OpKind::expire, .ref = kLikes, .amount = at.time_since_epoch().count()});
        if (expected.value) expected.ends = at;
        if (expected.value && at <= std::max(today.wall, ended)) expected = {};
        break;
      }
      case 4:
        reset(*executor, kLikes);
        expected = {};
        break;
      case 5:
        today.wall += milliseconds(*rc::gen::inRange<std::int64_t>(0, 30));
        expected.look(today.wall);
        break;
      case 6:
        write(disk, seal(*executor));
        break;
      case 7:
        write(disk, seal(*executor));
        executor = std::move(*start(disk));
        executor->judge_dates_by(today);
        break;
    }
    ShardState held = state(*executor, kLikes);
    realize(held, today.wall);
    const Total total_now = total(held.cells);
    RC_ASSERT(total_now.exists == expected.value.has_value());
    RC_ASSERT(narrow(total_now.sum) == expected.value.value_or(0));
  }
}

}  // namespace
}  // namespace quipu::test
