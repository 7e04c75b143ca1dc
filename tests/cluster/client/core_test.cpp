// The rest of what a client does: sessions, spreading, reads, resets, limits.
#include "cluster/client/core.h"

#include <gtest/gtest.h>

#include <set>

#include "cluster/retry/retry_action.h"
#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

TEST(ClientVerdict, EveryCodeByHowOftenTheChangeWasSent) {
  using enum RetryAction;
  struct Case {
    Code code;
    RetryAction once, twice;
  };
  const Case cases[] = {
      {Code::ok, complete, complete},
      {Code::invalid_argument, complete, complete},
      {Code::out_of_range, complete, complete},
      {Code::token_reused, complete, complete},
      {Code::token_expired, rebind, complete},
      {Code::executor_gone, rebind, complete},
      {Code::in_doubt, retry, retry},
      {Code::storage_failed, retry, retry},
      {Code::protocol_error, retry, retry},
      {Code::no_quorum, rebind, retry},
      {Code::session_window, rebind, retry},
      {Code::overloaded, rebind, retry},
      {Code::unavailable, rebind, retry},
      {Code::storage_full, rebind, retry},
      {Code::stale_config, rebind, retry},
      {Code{999}, retry, retry},  // newer than this build: the careful reading
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(describe(c.code).name);
    EXPECT_EQ(retry_action(c.code, 1), c.once);
    EXPECT_EQ(retry_action(c.code, 2), c.twice);
    EXPECT_EQ(retry_action(c.code, 1000), c.twice);
  }
}

// ---- sessions ----

TEST(ClientCore, AFullWindowOpensAnotherSessionAndNobodyWaitsForTheSlowOne) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "slow");
  const SentOp slow = t.take_change();
  for (std::uint64_t call = 2; call <= TokenWindow::kWindow; ++call) {
    t.add(call, "k");
    t.answer(t.take_change(), Code::ok);
  }
  t.add(5000, "k");
  const SentOp session = t.take_op();
  EXPECT_EQ(session.op.kind, OpKind::open_session);
  t.answer_session(session, Serial{77});
  const SentOp add = t.take_op();
  EXPECT_EQ(add.op.token, (Token{.store = kStore1, .serial = Serial{77}, .number = 1, .floor = 1}));
  EXPECT_NE(slow.op.token.serial, Serial{77});
  t.answer(slow, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientCore, ARetrySaysTheFloorOfNowAndNeverPassesAnOutstandingNumber) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  std::vector<SentOp> sent;
  for (std::uint64_t call = 1; call <= 3; ++call) {
    t.add(call, "k");
    sent.push_back(t.take_change());
  }
  t.answer(sent[2], Code::in_doubt);
  t.answer(sent[0], Code::ok);
  t.pass(100ms);
  const SentOp retry = t.take_op();
  EXPECT_EQ(retry.op.token.number, 3u);
  EXPECT_EQ(retry.op.token.floor, 2u);
}

TEST(ClientCore, AnExecutorThatSaysItsWindowIsFullGetsAnotherSessionAtOnce) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "k");
  const SentOp first = t.take_change();
  t.answer(first, Code::session_window);
  const SentOp session = t.take_op();
  EXPECT_EQ(session.op.kind, OpKind::open_session);
  t.answer_session(session, Serial{77});
  EXPECT_EQ(t.take_op().op.token.serial, Serial{77});
}

// ---- shards ----

TEST(ClientCore, ASpreadCounterUsesAllItsShardsOnceThatIsKnown) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "hot");
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.shard, 0);
  t.answer(first, Code::ok, "", 4);
  std::set<ShardIndex> used;
  for (std::uint64_t call = 2; call < 200; ++call) {
    t.add(call, "hot");
    const SentOp add = t.take_change();
    used.insert(add.op.shard);
    t.answer(add, Code::ok);
  }
  EXPECT_EQ(used, (std::set<ShardIndex>{0, 1, 2, 3}));
  t.add(1000, "cold");
  EXPECT_EQ(t.take_change().op.shard, 0);
}

TEST(ClientCore, AShardThatItsExecutorHasNotHeardOfIsRefusedForNowOnly) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "hot");
  t.answer(t.take_change(), Code::ok, "", 64);
  t.add(2, "hot");
  const SentOp spread = t.take_change();
  ASSERT_GT(spread.op.shard, 0);  // by this seed
  t.answer(spread, Code::invalid_argument);
  t.pass(100ms);
  const SentOp again = t.take_change();
  EXPECT_EQ(again.op.shard, 0);
  EXPECT_NE(again.op.token.number, spread.op.token.number);
}

TEST(ClientCore, ASpreadCounterPrefersShardsThatTheConnectedNodeOwns) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  ConfigReply config = t.config_of("n1:1");
  config.replication = 1;  // even partitions are n1's, the others n2's
  config.owners.clear();
  for (std::size_t p = 0; p < kPartitions; ++p)
    config.owners.push_back(static_cast<std::uint16_t>(p % 2));
  t.tell_config(n1, config);
  t.add(1, "hot");
  t.answer(t.take_change(), Code::ok, "", 64);
  int local = 0;
  for (std::uint64_t call = 2; call < 102; ++call) {
    t.add(call, "hot");
    const SentOp add = t.take_change();
    if (add.op.token.store == kStore1) ++local;
    t.answer(add, Code::ok);
  }
  EXPECT_GE(local, 95);  // eight draws miss once in 256
}

// ---- limits ----

TEST(ClientCore, RefusesWhatCannotBeCountedBeforeAnythingIsSent) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "");
  t.add(2, std::string(kMaxKey + 1, 'k'));
  t.add(3, "k", 1, 0ms);
  t.raise(4, "k", 0);
  t.raise(5, "k", kMaxShards + 1);
  for (std::uint64_t call = 1; call <= 5; ++call)
    EXPECT_EQ(t.ended(call), Code::invalid_argument) << call;
  EXPECT_TRUE(t.ops.empty());
  t.add(6, std::string(kMaxKey, 'k'));
  EXPECT_FALSE(t.ended(6));
}

TEST(ClientCore, MoreCallsThanItHoldsAreOverloaded) {
  ClientHarness t({.members = 1, .max_in_flight = 2});
  t.connect("n1:1");
  t.add(1, "k");
  t.read(2, "k");
  t.add(3, "k");
  EXPECT_EQ(t.ended(3), Code::overloaded);
  t.answer(t.take_change(), Code::ok);
  t.add(4, "k");
  EXPECT_FALSE(t.ended(4));
}

TEST(ClientCore, WithoutAnyNodeACallEndsAsUnavailableAndSaysWhy) {
  ClientHarness t({.members = 1});
  t.add(1, "k", 1, 500ms);
  t.read(2, "k");
  t.refuse("n1:1");
  t.pass(600ms);
  ASSERT_EQ(t.ended(1), Code::unavailable);
  EXPECT_EQ(t.status(1)->detail(), "no node answers at n1:1: connection refused");
  t.pass(5s);
  EXPECT_EQ(t.ended(2), Code::unavailable);
}

TEST(ClientCore, WhileTheClusterIsNotFoundedACallEndsWithTheMembersThatItWaitsFor) {
  ClientHarness t;
  const ConnectionId n1 = t.open("n1:1");
  ConfigReply config = t.config_of("n1:1", false);
  config.placement_key = HashKey{};
  config.members[1].store = config.members[2].store = StoreId{};
  t.tell_config(n1, config);
  EXPECT_TRUE(t.core.connected());
  EXPECT_FALSE(t.core.usable());
  t.add(1, "k", 1, 500ms);
  t.pass(600ms);
  EXPECT_TRUE(t.ops.empty()) << "no executor can open a session yet";
  ASSERT_EQ(t.ended(1), Code::unavailable);
  EXPECT_EQ(t.status(1)->detail(), "the cluster is not founded yet: n1 waits for n2 and n3");
  EXPECT_EQ(t.core.trouble(), t.status(1)->detail());

  t.add(2, "k");
  t.tell_config(n1, t.config_of("n1:1"));
  EXPECT_TRUE(t.core.usable());
  t.pass(100ms);
  t.answer(t.take_change(), Code::ok);
  EXPECT_EQ(t.ended(2), Code::ok);
}

TEST(ClientCore, StoppingEndsAllCallsAndSaysWhichMayHaveBeenApplied) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "sent");
  static_cast<void>(t.take_change());
  t.read(2, "k");
  t.reset(3, "k");
  ClientEffects effects;
  t.core.add(t.now, CallId{4}, {.key = "k", .timeout = 5s}, effects);
  t.core.stop(t.now, effects);
  std::map<CallId, Code> ended;
  for (const auto& completion : effects.completions) {
    ended[completion.call] = std::get<Status>(completion.answer).code();
  }
  EXPECT_EQ(ended, (std::map<CallId, Code>{{CallId{1}, Code::in_doubt},
                                           {CallId{2}, Code::unavailable},
                                           {CallId{3}, Code::unavailable},
                                           {CallId{4}, Code::in_doubt}}));
}

// ---- reads, raises, resets ----

TEST(ClientCore, AReadIsAskedAgainAfterAReconnect) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.read(1, "likes", ReadLevel::fresh);
  EXPECT_EQ(t.take_read().connection, n1);
  t.drop(n1);
  const ConnectionId n2 = t.connect("n2:1");
  const SentRead again = t.take_read();
  EXPECT_EQ(again.connection, n2);
  EXPECT_EQ(again.level, ReadLevel::fresh);
  t.answer_read(again, {.exists = true, .value = 42});
  EXPECT_EQ(std::get<Values>(t.done.at(CallId{1})).values.front().value, 42);
}

TEST(ClientCore, AReadThatIsRefusedForNowIsAskedAgainAndItsLastRefusalIsNamed) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.read(1, "likes");
  const Value refused{.code = Code::unavailable, .detail = "waiting for the other owners"};
  t.answer_read(t.take_read(), refused);
  EXPECT_FALSE(t.ended(1));
  t.pass(100ms);
  t.answer_read(t.take_read(), {.exists = true, .value = 42});
  EXPECT_EQ(std::get<Values>(t.done.at(CallId{1})).values.front().value, 42);

  t.read(2, "likes");
  t.answer_read(t.take_read(), refused);
  t.pass(10s);
  const Value last = std::get<Values>(t.done.at(CallId{2})).values.front();
  EXPECT_EQ(last.code, Code::unavailable);
  EXPECT_EQ(last.detail, "waiting for the other owners");
}

TEST(ClientCore, AKeyThatCannotBeReadTakesNoOtherKeyOfTheReadWithIt) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.read_many(1, {"likes", "views"});
  const Value likes{.exists = true, .value = 42};
  const Value refused{.code = Code::unavailable, .detail = "no owner is up"};
  t.answer_read(t.take_read(), std::vector{likes, refused});
  t.pass(10s);
  const std::vector<Value> values = std::get<Values>(t.done.at(CallId{1})).values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].code, Code::ok);
  EXPECT_EQ(values[0].value, 42);
  EXPECT_EQ(values[1].code, Code::unavailable);
}

TEST(ClientCore, AKeyThatNoCounterHasIsRefusedBeforeItIsPutIntoAFrame) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  std::uint64_t call = 1;
  for (const std::string& key : {std::string(), std::string(513, 'k'), std::string(2 << 20, 'k')}) {
    t.read(call, key);
    EXPECT_EQ(t.ended(call++), Code::invalid_argument);
    t.add(call, key);
    EXPECT_EQ(t.ended(call++), Code::invalid_argument);
    t.reset(call, key);
    EXPECT_EQ(t.ended(call++), Code::invalid_argument);
    t.raise(call, key, 2);
    EXPECT_EQ(t.ended(call++), Code::invalid_argument);
  }
  t.list(call, std::string(513, 'p'), 0);
  EXPECT_EQ(t.ended(call), Code::invalid_argument);
  EXPECT_TRUE(t.reads.empty() && t.ops.empty() && t.lists.empty());
}

TEST(ClientCore, AnAddHasTheTotalThatItsExecutorAnswered) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer_total(t.take_change(), 7);
  EXPECT_EQ(t.totals.at(CallId{1}), 7);
  t.add(2, "likes");
  t.answer_total(t.take_change(), std::nullopt);
  EXPECT_EQ(t.ended(2), Code::ok);
  EXPECT_EQ(t.totals.at(CallId{2}), std::nullopt);
}

TEST(ClientCore, AListIsAskedAgainAfterAReconnect) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.list(1, "likes:", 256);
  EXPECT_EQ(t.take_list().connection, n1);
  t.drop(n1);
  const ConnectionId n2 = t.connect("n2:1");
  const SentList again = t.take_list();
  EXPECT_EQ(again.connection, n2);
  EXPECT_EQ(again.prefix, "likes:");
  EXPECT_EQ(again.cursor, 256u);
  t.answer_list(again, {.keys = {"likes:1"}, .next = 512});
  const Keys keys = std::get<Keys>(t.done.at(CallId{1}));
  EXPECT_EQ(keys.keys, std::vector<std::string>{"likes:1"});
  EXPECT_EQ(keys.next, 512u);
}

TEST(ClientCore, AListThatCannotGoOnIsAskedAgainAndInTheEndSaysWhereItStopped) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.list(1, "", 0);
  const Keys stuck{.next = 768, .code = Code::unavailable, .detail = "none of n2, n3 answered"};
  t.answer_list(t.take_list(), stuck);
  EXPECT_FALSE(t.done.contains(CallId{1}));
  t.pass(100ms);
  t.answer_list(t.take_list(), stuck);
  t.pass(10s);
  const Keys keys = std::get<Keys>(t.done.at(CallId{1}));
  EXPECT_EQ(keys.code, Code::unavailable);
  EXPECT_EQ(keys.detail, "none of n2, n3 answered");
  EXPECT_EQ(keys.next, 768u);
}

TEST(ClientCore, AQuestionForTheConfigIsAnsweredByTheConnectedNode) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.ask_config(1);
  ConfigReply reply = t.config_of("n1:1");
  t.tell_config(n1, reply);  // the answer to a question of the client's own
  EXPECT_FALSE(t.done.contains(CallId{1}));
  reply.id = t.last_config_id;
  t.tell_config(n1, reply);
  const auto config = std::get<std::shared_ptr<const ConfigReply>>(t.done.at(CallId{1}));
  EXPECT_EQ(config->members.size(), 3u);
  t.ask_config(2);
  t.pass(10s);
  EXPECT_EQ(t.ended(2), Code::unavailable);
}

TEST(ClientCore, ARaiseIsAskedAgainAndItsLastRefusalIsNamed) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.raise(1, "hot", 8);
  const SentOp raise = t.take_op();
  EXPECT_EQ(raise.op.kind, OpKind::raise);
  EXPECT_EQ(raise.op.amount, 8);
  t.answer(raise, Code::no_quorum);
  t.pass(100ms);
  t.answer(t.take_op(), Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);

  t.raise(2, "hot", 9);
  while (!t.ended(2)) {
    while (!t.ops.empty()) t.answer(t.take_op(), Code::no_quorum);
    t.pass(100ms);
  }
  EXPECT_EQ(t.ended(2), Code::no_quorum);

  t.raise(3, "hot", 9);
  t.answer(t.take_op(), Code::storage_full);
  EXPECT_EQ(t.ended(3), Code::storage_full) << "which does not pass by itself";
}

TEST(ClientCore, AResetClearsEveryShardWithATokenEach) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.reset(1, "hot");
  const SentRead question = t.take_read();
  EXPECT_EQ(question.level, ReadLevel::local);
  t.answer_read(question, {.shards = 3, .exists = true});
  std::set<ShardIndex> shards;
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(t.ended(1));
    const SentOp part = t.take_change();
    EXPECT_EQ(part.op.kind, OpKind::reset);
    shards.insert(part.op.shard);
    numbers.insert(part.op.token.number);
    t.answer(part, Code::ok);
  }
  EXPECT_EQ(shards, (std::set<ShardIndex>{0, 1, 2}));
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientCore, AResetAtQuorumFirstLearnsOfEveryShardThatAMajorityKnows) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.reset(1, "hot", Ack::quorum);
  EXPECT_EQ(t.take_read().level, ReadLevel::strong);
}

TEST(ClientCore, AResetThatSucceedsInSomeShardsOnlyIsInDoubt) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.reset(1, "hot");
  t.answer_read(t.take_read(), {.shards = 2, .exists = true});
  t.answer(t.take_change(), Code::ok);
  t.answer(t.take_change(), Code::out_of_range);
  ASSERT_EQ(t.ended(1), Code::in_doubt);
  EXPECT_NE(t.status(1)->detail().find("1 of 2 shards"), std::string::npos);
}

TEST(ClientCore, AResetWhoseShardsCannotBeLearntChangesNothing) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.reset(1, "hot", Ack::quorum);
  t.answer_read(t.take_read(), {.code = Code::no_quorum});
  t.pass(10s);  // it is asked again until then
  EXPECT_EQ(t.ended(1), Code::no_quorum);
  EXPECT_TRUE(t.ops.empty());
}

}  // namespace
}  // namespace quipu
