// Adds in a namespace with tiers, at one node: in which windows they count, in one record with
// their counter, and how long a window is kept.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/storage/dated_executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

const ShardRef kHome{"hits:home", 0};
constexpr std::uint64_t kDefinedAt = 1'789'000'000'000;  // before kToday

NamespaceDefinition defined(NamespacePolicy policy, std::uint64_t at = kDefinedAt) {
  return {.name = "hits", .changed = {at, NodeId{1}}, .policy = std::move(policy)};
}

class Windows : public DatedExecutor {
 protected:
  Windows() {
    executor_.merge_namespace(defined({.tiers = {{60s, 600s}, {3600s, {}}}, .late = 300s}));
  }

  static ShardKey window(std::chrono::seconds tier, Wall at, ShardRef counter = kHome) {
    return window_at(counter, tier, at);
  }
  std::int64_t count(std::chrono::seconds tier, Wall at, ShardRef counter = kHome) {
    return value(executor_, window(tier, at, counter)).value();
  }
  bool is_held(std::chrono::seconds tier, Wall at) {
    const ShardKey name = window(tier, at);
    return executor_.map().find(executor_.map().place(name), name) != nullptr;
  }
  Applied add_at(Wall at, std::int64_t amount = 1, Token token = {}) {
    Change change{.kind = OpKind::add, .ref = kHome, .amount = amount, .token = token};
    change.at = at;
    return apply(executor_, change);
  }
};

TEST_F(Windows, an_add_counts_in_its_counter_and_in_one_window_of_each_tier) {
  EXPECT_EQ(add(executor_, kHome, 5).total, 5);
  pass(60s);
  EXPECT_EQ(add(executor_, kHome, 7).total, 12);
  EXPECT_EQ(count(60s, kToday), 5);
  EXPECT_EQ(count(60s, today_.wall), 7);
  EXPECT_EQ(count(3600s, kToday), 12);
}

TEST_F(Windows, all_of_an_add_is_in_one_record) {
  for (int i = 0; i < 3; ++i) {
    add(executor_, kHome, 5);
    const std::vector<Sealed> sealed = seal(executor_);
    ASSERT_EQ(sealed.size(), 1u) << i;
    const Record record =
        decode_record(stored::record(sealed[0].commit),
                      *find_put(sealed[0].batch, stored::record(sealed[0].commit)))
            .value();
    EXPECT_EQ(record.delta.size() + record.aliased.size(), 3u) << i;
  }
}

TEST_F(Windows, each_shard_of_a_counter_has_windows_of_its_own) {
  const ShardRef other{"hits:home", 3};
  add(executor_, kHome, 5);
  add(executor_, other, 7);
  EXPECT_EQ(count(60s, kToday), 5);
  EXPECT_EQ(count(60s, kToday, other), 7);
}

TEST_F(Windows, counters_of_other_namespaces_have_none) {
  EXPECT_EQ(add(executor_, {"likes:a", 0}, 5).total, 5);
  EXPECT_EQ(add(executor_, {"hits", 0}, 5).total, 5) << "no ':'";
  EXPECT_EQ(executor_.map().ledger().size(), 2u);
}

TEST_F(Windows, a_counter_that_is_older_than_its_tiers_counts_in_windows_from_then_on) {
  Executor executor = fresh_executor(2);
  executor.judge_dates_by(today_);
  add(executor, kHome, 5);
  executor.merge_namespace(defined({.tiers = {{60s, 600s}}}));
  EXPECT_EQ(add(executor, kHome, 7).total, 12);
  EXPECT_EQ(value(executor, window(60s, kToday)), 7);
}

// ---- dated adds ----

TEST_F(Windows, an_add_may_say_that_it_happened_earlier_within_late) {
  EXPECT_EQ(add_at(kToday - 300s, 5).code, Code::ok);
  EXPECT_EQ(count(60s, kToday - 300s), 5);
  EXPECT_EQ(count(60s, kToday), 0);
  EXPECT_EQ(add_at(kToday - 300s - 1ms).code, Code::invalid_argument);
  EXPECT_EQ(add_at(kToday + 1s).code, Code::ok) << "clocks differ a little";
  EXPECT_EQ(add_at(kToday + 1s + 1ms).code, Code::invalid_argument);
  EXPECT_EQ(value(executor_, kHome), 6);
}

TEST_F(Windows, an_add_elsewhere_may_not_say_when_it_happened) {
  Change change{.kind = OpKind::add, .ref = {"likes:a", 0}, .amount = 1};
  change.at = kToday;
  EXPECT_EQ(apply(executor_, change).code, Code::invalid_argument);
  EXPECT_FALSE(exists(executor_, {"likes:a", 0}));
}

TEST_F(Windows, a_node_that_does_not_know_the_date_refuses_adds_and_no_others) {
  today_.trusted = false;
  EXPECT_EQ(add(executor_, kHome, 1).code, Code::unavailable);
  EXPECT_EQ(add(executor_, {"likes:a", 0}, 1).code, Code::ok);
  today_.trusted = true;
  EXPECT_EQ(add(executor_, kHome, 1).total, 1);
}

// ---- tokens ----

TEST_F(Windows, a_retry_never_moves_to_another_window) {
  const Token token{StoreId{1}, executor_.issue_session(), 1, 0};
  const Applied first = add(executor_, kHome, 5, token);
  pass(60s);
  const Applied again = add(executor_, kHome, 5, token);
  EXPECT_EQ(again.commit, first.commit);
  EXPECT_EQ(count(60s, kToday), 5);
  EXPECT_EQ(count(60s, today_.wall), 0);
  EXPECT_EQ(count(3600s, kToday), 5);
}

TEST_F(Windows, a_token_is_of_one_moment) {
  const Token token{StoreId{1}, executor_.issue_session(), 1, 0};
  EXPECT_EQ(add_at(kToday - 120s, 5, token).code, Code::ok);
  EXPECT_EQ(add_at(kToday - 60s, 5, token).code, Code::token_reused);
  EXPECT_EQ(add_at(kToday - 120s, 5, token).code, Code::ok);
  EXPECT_EQ(value(executor_, kHome), 5);
}

TEST_F(Windows, a_late_add_is_refused_for_good) {
  const Token token{StoreId{1}, executor_.issue_session(), 1, 0};
  EXPECT_EQ(add_at(kToday + 2s, 5, token).code, Code::invalid_argument);
  pass(2s);
  EXPECT_EQ(add_at(kToday + 2s, 5, token).code, Code::invalid_argument)
      << "a delayed copy does not succeed after all";
}

// ---- all or nothing ----

TEST_F(Windows, an_add_that_one_window_cannot_take_is_refused_as_a_whole) {
  add(executor_, kHome, INT64_MAX);
  reset(executor_, kHome);
  EXPECT_EQ(add(executor_, kHome, 1).code, Code::out_of_range);
  EXPECT_EQ(value(executor_, kHome), 0);
  EXPECT_EQ(add(executor_, kHome, -1).code, Code::ok);
  EXPECT_EQ(count(60s, kToday), INT64_MAX - 1);
  EXPECT_EQ(value(executor_, kHome), -1);
}

TEST_F(Windows, an_add_after_resets_that_were_just_sealed_is_in_one_record) {
  add(executor_, kHome, 5);
  Change windows{.kind = OpKind::reset, .ref = kHome};
  windows.at = kToday;
  apply(executor_, windows);
  reset(executor_, kHome);
  (void)seal(executor_);
  add(executor_, kHome, 7);
  executor_.seal();
  std::size_t with_changes = 0;
  for (const Sealed& sealed : executor_.take_sealed()) {
    const std::string key = stored::record(sealed.commit);
    const Record record = decode_record(key, *find_put(sealed.batch, key)).value();
    with_changes += record.delta.size() + record.aliased.size() > 0 ? 1 : 0;
  }
  EXPECT_EQ(with_changes, 1u);
  EXPECT_EQ(value(executor_, kHome), 7);
  EXPECT_EQ(count(60s, kToday), 7);
}

// The cell of this node counts nothing, but that of another does, so the window exists.
TEST_F(Windows, an_add_whose_cell_starts_again_beside_another_cell_is_in_one_record) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  add(executor_, kHome, 1);
  Change windows{.kind = OpKind::reset, .ref = kHome};
  windows.at = kToday;
  apply(executor_, windows);
  Delta told;
  for (const auto tier : {60s, 3600s}) told.push(window(tier, kToday), cell_of(99, 1, 3));
  executor_.merge(told);
  (void)seal(executor_);
  EXPECT_EQ(add(executor_, kHome, std::int64_t{1} << 55).code, Code::ok);
  EXPECT_EQ(count(60s, kToday), (std::int64_t{1} << 55) + 3);
}

// ---- resets and ends ----

TEST_F(Windows, are_history_that_a_reset_or_an_end_of_the_counter_leaves) {
  add(executor_, kHome, 5);
  reset(executor_, kHome);
  EXPECT_EQ(count(60s, kToday), 5);
  add(executor_, kHome, 7);
  expire(kHome, kToday + 1s);
  pass(2s);
  add(executor_, kHome, 1);
  EXPECT_EQ(value_now(kHome), 1);
  EXPECT_EQ(count(60s, kToday), 13);
}

TEST_F(Windows, are_reset_by_the_moment) {
  add(executor_, kHome, 5);
  pass(60s);
  add(executor_, kHome, 7);
  Change windows{.kind = OpKind::reset, .ref = kHome};
  windows.at = kToday;
  EXPECT_EQ(apply(executor_, windows).code, Code::ok);
  EXPECT_EQ(count(60s, kToday), 0);
  EXPECT_EQ(count(60s, today_.wall), 7);
  EXPECT_EQ(count(3600s, kToday), 0) << "the windows of all tiers";
  EXPECT_EQ(value(executor_, kHome), 12);
}

// ---- retention ----

TEST_F(Windows, go_when_they_have_been_over_for_as_long_as_they_are_kept) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  const Wall end = window_of(window(60s, kToday)).end();
  today_.wall = end + 600s + kLifeGrace - 1ms;
  sweep();
  EXPECT_TRUE(is_held(60s, kToday));
  pass(1ms);
  sweep();
  EXPECT_FALSE(is_held(60s, kToday));
  EXPECT_TRUE(is_held(3600s, kToday)) << "for ever";
  EXPECT_EQ(value(executor_, kHome), 5);
}

TEST_F(Windows, that_are_open_go_after_their_seal) {
  today_.wall = kToday;
  add_at(kToday - 300s);
  today_.wall = kToday + 3600s;
  sweep();
  EXPECT_TRUE(is_held(60s, kToday - 300s));
  (void)seal(executor_);
  sweep();
  EXPECT_FALSE(is_held(60s, kToday - 300s));
}

TEST_F(Windows, that_went_are_deleted_at_rest_and_stay_away_after_a_restart) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  executor->judge_dates_by(today_);
  executor->merge_namespace(defined({.tiers = {{60s, 600s}}}));
  add(*executor, kHome, 5);
  write(disk, seal(*executor));
  pass(3600s);
  sweep(*executor);
  write(disk, seal(*executor));
  executor = std::move(*start(disk));
  executor->judge_dates_by(today_);
  sweep(*executor);
  const ShardKey name = window(60s, kToday);
  EXPECT_FALSE(exists(*executor, name)) << "though the journal had it";
  EXPECT_EQ(value(*executor, kHome), 5);
}

TEST_F(Windows, that_are_gone_here_are_not_taken_from_peers) {
  Executor peer = fresh_executor(2);
  peer.judge_dates_by(today_);
  peer.merge_namespace(defined({.tiers = {{60s, 600s}, {3600s, {}}}}));
  add(peer, kHome, 5);
  (void)seal(peer);
  const Delta told = tell(peer, {window(60s, kToday), window(3600s, kToday)});
  executor_.merge(told);
  EXPECT_EQ(count(60s, kToday), 5);
  today_.wall = kToday + 3600s;
  (void)seal(executor_);
  sweep();
  executor_.merge(told);
  EXPECT_FALSE(is_held(60s, kToday));
  EXPECT_EQ(count(3600s, kToday), 5);
}

// It holds a cell of this node, which this node has forgotten.
TEST_F(Windows, that_are_gone_here_make_a_node_not_doubt_its_actor) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  const Delta told = tell(executor_, {window(60s, kToday)});
  today_.wall = kToday + 3600s;
  sweep();
  ASSERT_FALSE(is_held(60s, kToday));
  executor_.merge(told);
  EXPECT_TRUE(executor_.has_actor(partition_of(executor_, kHome)));
  add(executor_, kHome, 7);
  EXPECT_EQ(state(executor_, kHome).cells.size(), 1u);
}

TEST_F(Windows, of_a_tier_that_nobody_knows_any_more_are_kept) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  executor_.merge_namespace(defined({.tiers = {{3600s, {}}}}, kDefinedAt + 1));
  pass(std::chrono::hours(24 * 1000));
  sweep();
  EXPECT_TRUE(is_held(60s, kToday));
}

TEST_F(Windows, of_a_dropped_namespace_go_when_it_said) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  executor_.merge_namespace({.name = "hits", .dropped = {kDefinedAt + 1, NodeId{1}}});
  EXPECT_EQ(add(executor_, kHome, 7).code, Code::ok);
  EXPECT_EQ(count(60s, kToday), 5) << "nothing more is counted in time";
  (void)seal(executor_);
  pass(500s);
  sweep();
  EXPECT_TRUE(is_held(60s, kToday));
  pass(300s);
  sweep();
  EXPECT_FALSE(is_held(60s, kToday));
}

TEST_F(Windows, go_when_their_namespace_keeps_them_for_a_shorter_time_than_before) {
  add(executor_, kHome, 5);
  (void)seal(executor_);
  pass(300s);
  sweep();
  EXPECT_TRUE(is_held(60s, kToday));
  executor_.merge_namespace(defined({.tiers = {{60s, 60s}}}, kDefinedAt + 1));
  sweep();
  EXPECT_FALSE(is_held(60s, kToday));
}

}  // namespace
}  // namespace quipu::test
