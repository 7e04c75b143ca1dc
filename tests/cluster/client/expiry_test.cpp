// Counters that end, as a client asks for them: an add with a time to live, and an expire.
#include <gtest/gtest.h>

#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

TEST(ClientExpiry, AnAddCarriesItsTimeToLiveAlsoWhenItIsSentAgain) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add_with_ttl(1, "likes", 30s);
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.kind, OpKind::add);
  EXPECT_EQ(first.op.ttl_ms, 30'000u);
  t.drop(n1);
  t.connect("n2:1");
  const SentOp second = t.take_op();
  EXPECT_EQ(second.op.token, first.op.token);
  EXPECT_EQ(second.op.ttl_ms, 30'000u);
}

TEST(ClientExpiry, ATimeToLiveHasLimits) {
  const std::pair<std::chrono::milliseconds, bool> kCases[] = {
      {0ms, true},
      {1ms, true},
      {kMaxTtl, true},
      {kMaxTtl + 1ms, false},
      {-1ms, false},
      {std::chrono::milliseconds::min(), false},
      {std::chrono::milliseconds::max(), false},
  };
  for (const auto& [ttl, valid] : kCases) {
    ClientHarness t;
    t.connect("n1:1");
    t.add_with_ttl(1, "likes", ttl);
    EXPECT_EQ(t.ended(1) != Code::invalid_argument, valid) << ttl.count();
    EXPECT_EQ(t.ops.empty(), !valid) << ttl.count();
    if (valid) continue;
    EXPECT_NE(t.status(1)->detail().find("1,000 years"), std::string::npos);
  }
}

TEST(ClientExpiry, AnExpireOfTheFirstShardIsSentAgainWithItsToken) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.expire(1, "likes", 1'800'000'000'000);
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.kind, OpKind::expire);
  EXPECT_EQ(first.op.amount, 1'800'000'000'000);
  EXPECT_EQ(first.op.shard, 0);
  EXPECT_NE(first.op.token, Token{});
  t.drop(n1);
  t.connect("n2:1");
  const SentOp second = t.take_op();
  EXPECT_EQ(second.op.kind, OpKind::expire);
  EXPECT_EQ(second.op.amount, 1'800'000'000'000);
  EXPECT_EQ(second.op.token, first.op.token);
  t.answer(second, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

// The client knows of three shards.
TEST(ClientExpiry, AnExpireOfASpreadCounterIsRefusedAndNotRetried) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "hot");
  t.answer(t.take_change(), Code::ok, {}, 3);
  t.expire(2, "hot", 0);
  const SentOp expire = t.take_op();
  EXPECT_EQ(expire.op.shard, 0);
  t.answer(expire, Code::invalid_argument, "it is spread", 3);
  EXPECT_EQ(t.ended(2), Code::invalid_argument);
  EXPECT_TRUE(t.ops.empty());
}

// Its clock is not trusted. Another owner may have one that is.
TEST(ClientExpiry, AnExpireThatItsExecutorCannotDateGoesToAnother) {
  ClientHarness t;
  t.connect("n1:1");
  t.expire(1, "likes", 1);
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.token.store, kStore1);
  t.answer(first, Code::unavailable, "the clock is 5 s ahead");
  const SentOp second = t.take_change();
  EXPECT_NE(second.op.token.store, kStore1);
  t.answer(second, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientExpiry, AnExpireThatNoExecutorCanDateSaysWhyInTheEnd) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.expire(1, "likes", 1);
  t.answer(t.take_change(), Code::unavailable, "the clock is 5 s ahead");
  t.pass(1s);
  while (!t.ops.empty()) {
    t.answer(t.take_change(), Code::unavailable, "the clock is 5 s ahead");
    t.pass(1s);
  }
  t.pass(6s);
  ASSERT_EQ(t.ended(1), Code::unavailable);
  EXPECT_EQ(t.status(1)->detail(), "the clock is 5 s ahead");
}

}  // namespace
}  // namespace quipu
