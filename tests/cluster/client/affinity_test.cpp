// An add with an affinity: it goes where everybody else sends those of that affinity.
#include "protocol/affinity.h"

#include <gtest/gtest.h>

#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

constexpr Affinity kUser{17};

Value spread_over(ShardIndex shards) {
  Value value;
  value.shards = shards;
  return value;
}

ShardIndex expected(const ClientHarness& t, const std::string& key, ShardIndex usable) {
  return shard_for(kUser, Placement(t.config_of("n1:1").placement_key, {key, 0}), usable);
}

// One whose shard of two is not its shard of eight, nor the first.
std::string a_key(const ClientHarness& t) {
  for (int i = 0;; ++i) {
    std::string key = "k" + std::to_string(i);
    if (expected(t, key, 2) != 0 && expected(t, key, 8) != expected(t, key, 2)) return key;
  }
}

TEST(ClientAffinity, TheFirstAddAsksHowManyShardsThereAreAndGoesToItsOwn) {
  ClientHarness t;
  t.connect("n1:1");
  const std::string key = a_key(t);
  t.add_for(kUser, 1, key);
  EXPECT_TRUE(t.ops.empty());
  const SentRead question = t.take_read();
  EXPECT_EQ(question.level, ReadLevel::local);
  EXPECT_EQ(question.keys, std::vector<std::string>{key});
  t.answer_read(question, spread_over(8));
  const SentOp add = t.take_change();
  EXPECT_EQ(add.op.shard, expected(t, key, 8));
  EXPECT_EQ(add.op.affinity, Affinity{});  // its shard says it all
  t.answer(add, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientAffinity, AddsToOneCounterShareTheQuestion) {
  ClientHarness t;
  t.connect("n1:1");
  for (std::uint64_t call = 1; call <= 10; ++call) t.add_for(kUser, call, "likes");
  t.answer_read(t.take_read(), spread_over(8));
  EXPECT_TRUE(t.reads.empty());
  for (int i = 0; i < 10; ++i) {
    const SentOp add = t.take_change();
    EXPECT_EQ(add.op.shard, expected(t, "likes", 8));
    t.answer(add, Code::ok);
  }
  t.add_for(kUser, 11, "likes");
  EXPECT_TRUE(t.reads.empty());
  EXPECT_EQ(t.take_change().op.shard, expected(t, "likes", 8));
}

TEST(ClientAffinity, WhatIsKnownIsAskedForAgainButNobodyWaitsForThat) {
  ClientHarness t;
  t.connect("n1:1");
  const std::string key = a_key(t);
  t.add_for(kUser, 1, key);
  t.answer_read(t.take_read(), spread_over(2));
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.shard, expected(t, key, 2));
  t.answer(first, Code::ok);

  t.pass(1s);
  t.add_for(kUser, 2, key);
  EXPECT_EQ(t.take_change().op.shard, expected(t, key, 2));
  t.answer_read(t.take_read(), spread_over(8));
  t.add_for(kUser, 3, key);
  EXPECT_EQ(t.take_change().op.shard, expected(t, key, 8));
}

TEST(ClientAffinity, ARetryKeepsItsShardAndTokenThoughTheCounterHasGrown) {
  ClientHarness t;
  t.connect("n1:1");
  const std::string key = a_key(t);
  t.add_for(kUser, 1, key);
  t.answer_read(t.take_read(), spread_over(2));
  const SentOp first = t.take_change();
  t.answer(first, Code::in_doubt);
  t.add(2, key);
  t.answer(t.take_change(), Code::ok, {}, 8);
  t.pass(kRetry);
  const SentOp again = t.take_change();
  EXPECT_EQ(again.op.shard, first.op.shard);
  EXPECT_EQ(again.op.token.number, first.op.token.number);
}

TEST(ClientAffinity, ANodeThatCannotTellSendsTheAddToShard0) {
  ClientHarness t;
  t.connect("n1:1");
  t.add_for(kUser, 1, a_key(t));
  Value refused;
  refused.code = Code::overloaded;
  t.answer_read(t.take_read(), refused);
  EXPECT_EQ(t.take_change().op.shard, 0);
}

TEST(ClientAffinity, AShardThatItsExecutorHasNotHeardOfIsLeftForShard0) {
  ClientHarness t;
  t.connect("n1:1");
  t.add_for(kUser, 1, a_key(t));
  t.answer_read(t.take_read(), spread_over(2));
  t.answer(t.take_change(), Code::invalid_argument);
  t.pass(kRetry);
  const SentOp again = t.take_change();
  EXPECT_EQ(again.op.shard, 0);
  t.answer(again, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientAffinity, TheQuestionIsAskedAgainOfTheNextNode) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  const std::string key = a_key(t);
  t.add_for(kUser, 1, key);
  EXPECT_EQ(t.take_read().connection, n1);
  t.drop(n1);
  const ConnectionId n2 = t.connect("n2:1");
  const SentRead again = t.take_read();
  EXPECT_EQ(again.connection, n2);
  t.answer_read(again, spread_over(2));
  EXPECT_EQ(t.take_change().op.shard, expected(t, key, 2));
}

TEST(ClientAffinity, AnAddThatNeverLearnsItEndsUnappliedAtItsDeadline) {
  ClientHarness t;
  t.connect("n1:1");
  t.add_for(kUser, 1, "likes", 500ms);
  const SentRead question = t.take_read();
  t.pass(600ms);
  EXPECT_EQ(t.ended(1), Code::unavailable);
  t.answer_read(question, spread_over(2));
  EXPECT_TRUE(t.ops.empty());
}

}  // namespace
}  // namespace quipu
