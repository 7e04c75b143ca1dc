// Changes of counters in slices (storage/kinds/kind.h), at one node: one record has all of a
// change, and the slices end with their counter.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "protocol/shard_number.h"
#include "protocol/window.h"
#include "storage/kinds/frequency.h"
#include "tests/storage/dated_executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/kinds/bodies.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using Counts = std::vector<std::uint64_t>;

// A short one: names of its windows are within their strings.
const ShardKey kSliced{"q:sent", shard_of(Kind::frequency)};
constexpr frequency::Size kSize{60'000, 1};  // in four slices
constexpr std::uint64_t kItems = 40;         // some in each slice

class Slices : public DatedExecutor {
 protected:
  Code begin(Executor& executor, Wall::duration ttl = {}) {
    const std::string words = frequency::words_to_begin(kSize);
    Change change{.kind = OpKind::apply, .ref = kSliced, .words = words};
    change.ttl = ttl;
    return apply(executor, change).code;
  }
  // Counts each item so often. Returns what the reply tells.
  Counts count(Executor& executor, std::uint64_t times = 1) {
    std::vector<frequency::Increment> increments;
    for (std::uint64_t item = 0; item < kItems; ++item)
      increments.push_back({item * 0x9e3779b97f4a7c15, times});
    const std::string words = frequency::words_to_add(increments);
    std::string reply;
    Change change{.kind = OpKind::apply, .ref = kSliced, .words = words, .reply = &reply};
    if (apply(executor, change).code != Code::ok) return {};
    return frequency::added(reply).value();
  }
  static Counts each(std::uint64_t count) { return Counts(kItems, count); }
  std::vector<ShardKey> held_slices(const Executor& executor, ShardKey first = kSliced) {
    std::vector<ShardKey> held;
    for (ShardIndex i = 1; i <= frequency::slice_count(kSize); ++i) {
      const ShardKey slice = slice_at(first, i);
      if (!state(executor, slice).parts.empty()) held.push_back(slice);
    }
    return held;
  }
  std::vector<ShardKey> all_of_it() {
    std::vector<ShardKey> all = held_slices(executor_);
    all.push_back(kSliced);
    return all;
  }
};

TEST_F(Slices, an_add_is_in_one_record_with_all_of_its_slices) {
  ASSERT_EQ(begin(executor_), Code::ok);
  EXPECT_TRUE(held_slices(executor_).empty());
  EXPECT_EQ(count(executor_), each(1));
  EXPECT_EQ(count(executor_, 10), each(11));
  EXPECT_EQ(held_slices(executor_).size(), 4u);
  const std::vector<Sealed> sealed = seal(executor_);
  ASSERT_EQ(sealed.size(), 1u);
  Executor peer = fresh_executor(2);
  peer.merge(record_of(sealed[0]).delta);
  for (const ShardKey& shard : all_of_it()) EXPECT_EQ(state(peer, shard), state(executor_, shard));
  EXPECT_EQ(count(peer, 100), each(111)) << "it tells of both writers";
}

TEST_F(Slices, have_the_partition_of_their_counter) {
  for (ShardIndex i = 1; i <= frequency::kMostSlices; ++i)
    EXPECT_EQ(partition_of(executor_, slice_at(kSliced, i)), partition_of(executor_, kSliced));
}

TEST_F(Slices, what_cannot_be_counted_changes_none) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_), each(1));
  (void)seal(executor_);
  EXPECT_EQ(count(executor_, std::numeric_limits<std::int64_t>::max() / 2), Counts{});
  EXPECT_FALSE(executor_.has_open());
  EXPECT_EQ(count(executor_), each(2));
}

// ---- ends ----

TEST_F(Slices, a_reset_ends_them) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  (void)seal(executor_);
  pass(5s);
  ASSERT_EQ(reset(executor_, kSliced).code, Code::ok);
  EXPECT_TRUE(held_slices(executor_).empty());
  pass(5s);
  ASSERT_EQ(begin(executor_), Code::ok);
  EXPECT_EQ(count(executor_, 2), each(2));
}

TEST_F(Slices, a_counter_of_the_usual_size_that_begins_after_one_in_slices_is_in_one_shard) {
  ASSERT_EQ(begin(executor_, 1s), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  pass(20s);
  EXPECT_EQ(count(executor_, 2), each(2)) << "nobody has realized the end before";
  (void)seal(executor_);
  sweep();
  EXPECT_TRUE(held_slices(executor_).empty());
}

// The reset came from a node that did not hold that slice.
TEST_F(Slices, one_that_a_reset_missed_ends_before_it_is_used) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  (void)seal(executor_);
  Executor peer = fresh_executor(2);
  peer.judge_dates_by(today_);
  peer.merge(tell(executor_, {kSliced}));
  pass(5s);
  ASSERT_EQ(reset(peer, kSliced).code, Code::ok);
  ASSERT_EQ(begin(peer), Code::ok);
  (void)seal(peer);
  executor_.merge(tell(peer, {kSliced}));
  EXPECT_EQ(held_slices(executor_).size(), 4u);
  EXPECT_EQ(count(executor_, 3), each(3));
}

// With all of it evicted, a decision ended the first shard alone, and it was forgotten.
TEST_F(Slices, what_is_left_of_a_life_that_was_forgotten_counts_in_no_other) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  (void)seal(executor_);
  Delta left;
  for (const ShardKey& slice : held_slices(executor_)) left.push(slice, state(executor_, slice));
  Executor peer = fresh_executor(2);
  peer.judge_dates_by(today_);
  peer.merge(tell(executor_, {kSliced}));
  ASSERT_EQ(reset(peer, kSliced).code, Code::ok);
  for (int i = 0; i < 3; ++i) {
    (void)seal(peer);
    pass(30s);
    sweep(peer);
  }
  ASSERT_EQ(peer.map().find(peer.map().place(kSliced), kSliced), nullptr);
  peer.merge(left);
  ASSERT_EQ(begin(peer), Code::ok);
  EXPECT_EQ(count(peer, 3), each(3));
}

// The slice began by a faster clock than the one that resets.
TEST_F(Slices, a_reset_by_a_slower_clock_ends_them) {
  ASSERT_EQ(begin(executor_, 100s), Code::ok);
  pass(20s);
  ASSERT_EQ(count(executor_, 5), each(5));
  (void)seal(executor_);
  pass(-5s);
  ASSERT_EQ(reset(executor_, kSliced).code, Code::ok);
  ASSERT_EQ(begin(executor_), Code::ok);
  EXPECT_EQ(count(executor_, 2), each(2));
}

// A deadline that a slower clock set, before the birth of the life that it is about.
TEST_F(Slices, count_in_a_life_that_goes_on_though_its_deadline_has_passed) {
  ASSERT_EQ(begin(executor_, 100s), Code::ok);
  ASSERT_EQ(count(executor_), each(1));
  ShardState told = state(executor_, kSliced);
  const Wall born = told.parts.at(0).born;
  told.life.at = born - 500ms;
  told.life.stamp = born + 1h;
  executor_.merge(said(kSliced, told));
  EXPECT_EQ(count(executor_, 2), each(3));
  EXPECT_EQ(count(executor_, 2), each(5));
}

// No end can come that they must outlive alone: their births are the counter's.
TEST_F(Slices, of_a_counter_that_never_ends_begin_without_a_trusted_clock) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(add_for({"q:other", 0}, 1s).code, Code::ok);
  today_.trusted = false;
  EXPECT_EQ(count(executor_), each(1));
}

// Begun at once with two sizes, at two nodes.
TEST_F(Slices, a_reply_also_tells_of_those_that_another_writer_has) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  (void)seal(executor_);
  Executor peer = fresh_executor(2);
  ASSERT_EQ(count(peer, 2), each(2)) << "the usual size";
  std::vector<ShardKey> all = held_slices(executor_);
  all.push_back(kSliced);
  peer.merge(tell(executor_, all));
  EXPECT_EQ(count(peer, 1), each(8));
}

// Any peer may send it: it is a body.
TEST_F(Slices, a_window_without_a_matrix_begins_with_the_size_of_its_counter) {
  NamespaceDefinition hours{.name = "q", .changed = {1'789'000'000'000, NodeId{1}}};
  hours.policy.tiers = {{3600s, {}}};
  executor_.merge_namespace(hours);
  ASSERT_EQ(begin(executor_), Code::ok);
  const ShardKey window = window_at(kSliced, 3600s, today_.wall);
  executor_.merge(said(window, ShardState{{}, 1, 1, {}, {{Wall{}, bytes({1, 0})}}}));
  ASSERT_EQ(count(executor_, 5), each(5));
  for (const ShardKey& slice : held_slices(executor_, window))
    EXPECT_TRUE(kFrequency.sound(state(executor_, slice).parts.at(0).body));
  EXPECT_EQ(held_slices(executor_, window).size(), 4u);
}

TEST_F(Slices, end_with_their_counter) {
  ASSERT_EQ(begin(executor_, 10s), Code::ok);
  ASSERT_EQ(count(executor_), each(1));
  ASSERT_EQ(expire(kSliced, today_.wall + 30s).code, Code::ok);
  pass(29s);
  EXPECT_EQ(count(executor_), each(2));
  (void)seal(executor_);
  pass(1s);
  sweep();
  EXPECT_TRUE(held_slices(executor_).empty());
  (void)seal(executor_);
  pass(15s);
  sweep();
  pass(15s);
  sweep();
  for (ShardIndex i = 0; i <= 4; ++i) EXPECT_FALSE(is_held(slice_at(kSliced, i))) << i;
}

// A slice with a deadline of its own would end alone.
TEST_F(Slices, count_on_though_one_had_not_heard_that_the_deadline_moved) {
  ASSERT_EQ(begin(executor_, 10s), Code::ok);
  (void)seal(executor_);
  Executor peer = fresh_executor(2);
  peer.judge_dates_by(today_);
  peer.merge(tell(executor_, {kSliced}));
  ASSERT_EQ(count(peer), each(1));
  (void)seal(peer);
  ASSERT_EQ(expire(kSliced, today_.wall + 100s).code, Code::ok);
  executor_.merge(tell(peer, held_slices(peer)));
  executor_.merge(tell(peer, {kSliced}));
  (void)seal(executor_);
  pass(20s);
  sweep();
  EXPECT_EQ(held_slices(executor_).size(), 4u);
  EXPECT_EQ(count(executor_), each(2));
}

TEST_F(Slices, an_end_in_the_past_ends_them_at_once) {
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_), each(1));
  (void)seal(executor_);
  ASSERT_EQ(expire(kSliced, today_.wall - 1s).code, Code::ok);
  EXPECT_TRUE(held_slices(executor_).empty());
}

// A slice that is full of what forgotten lives left takes no more, and nothing is half applied.
TEST_F(Slices, that_cannot_take_a_change_refuse_all_of_it) {
  ASSERT_EQ(begin(executor_, 1h), Code::ok);
  ASSERT_EQ(count(executor_), each(1));
  ShardState full = state(executor_, held_slices(executor_).at(0));
  const Part one = full.parts.at(0);
  full.parts.clear();
  for (std::size_t i = 0; i < kMaxParts; ++i)
    full.parts.push_back({one.born + std::chrono::hours(i + 1), one.body});
  Executor other = fresh_executor(2);
  other.judge_dates_by(today_);
  ASSERT_EQ(begin(other, 1h), Code::ok);
  other.merge(said(held_slices(executor_).at(0), full));
  (void)seal(other);
  EXPECT_EQ(count(other), Counts{});
  EXPECT_FALSE(other.has_open());
}

// ---- windows ----

// Begun at once with two sizes, at two nodes. Each goes on with its own.
TEST_F(Slices, a_window_begins_with_the_size_that_its_writer_has) {
  ASSERT_EQ(count(executor_), each(1)) << "the usual size";
  Executor peer = fresh_executor(2);
  ASSERT_EQ(begin(peer), Code::ok);
  executor_.merge(tell(peer, {kSliced}));
  NamespaceDefinition hours{.name = "q", .changed = {1'789'000'000'000, NodeId{1}}};
  hours.policy.tiers = {{3600s, {}}};
  executor_.merge_namespace(hours);
  EXPECT_EQ(count(executor_), each(2));
  EXPECT_EQ(count(executor_), each(3));
}

TEST_F(Slices, a_window_of_the_counter_is_in_slices_too) {
  NamespaceDefinition hours{.name = "q", .changed = {1'789'000'000'000, NodeId{1}}};
  hours.policy.tiers = {{3600s, {}}};
  executor_.merge_namespace(hours);
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 5), each(5));
  ASSERT_EQ(reset(executor_, kSliced).code, Code::ok);
  pass(5s);
  ASSERT_EQ(begin(executor_), Code::ok);
  ASSERT_EQ(count(executor_, 2), each(2)) << "the window has counted more";
  const ShardKey window = window_at(kSliced, 3600s, today_.wall);
  EXPECT_EQ(held_slices(executor_, window).size(), 4u);
  std::string reply;
  const ShardState first = state(executor_, window);
  ASSERT_EQ(first.parts.size(), 1u);
  const std::vector<std::string_view> body{first.parts[0].body};
  ASSERT_EQ(kFrequency.answer(body, frequency::kTotalQuestion, reply), Code::ok);
  EXPECT_EQ(frequency::total(reply), 7 * kItems);
}

}  // namespace
}  // namespace quipu::test
