// How a client counts exactly once: each rule of retry_action.h as a story.
#include <gtest/gtest.h>

#include <set>

#include "cluster/retry/retry_action.h"
#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;
using ::testing::Test;

TEST(ClientChanges, TheFirstAddOpensASessionAtTheConnectedOwnerAndCarriesItsToken) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes", 5);
  const SentOp session = t.take_op();
  EXPECT_EQ(session.op.kind, OpKind::open_session);
  EXPECT_EQ(session.op.token.store, kStore1);
  EXPECT_TRUE(t.ops.empty());

  t.answer_session(session, Serial{44});
  const SentOp add = t.take_op();
  EXPECT_EQ(add.connection, n1);
  EXPECT_EQ(add.key, "likes");
  EXPECT_EQ(add.op.amount, 5);
  EXPECT_EQ(add.op.shard, 0);
  EXPECT_EQ(add.op.token, (Token{.store = kStore1, .serial = Serial{44}, .number = 1, .floor = 1}));

  EXPECT_FALSE(t.ended(1));
  t.answer(add, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientChanges, AnAddForAShardOfOthersGoesToItsFirstOwner) {
  ClientHarness t({.owners = {2, 1}});
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  const SentOp add = t.take_change();
  EXPECT_EQ(add.connection, n1);
  EXPECT_EQ(add.op.token.store, kStore3);
}

TEST(ClientChanges, AfterALostReplyTheSameTokenIsSentThroughAnotherNodeAndCountsOnce) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  const SentOp first = t.take_change();
  t.drop(n1);
  const ConnectionId n2 = t.connect("n2:1");
  const SentOp second = t.take_op();
  EXPECT_EQ(second.connection, n2);
  EXPECT_EQ(second.op.token, first.op.token);
  t.answer(second, Code::ok);  // the duplicate's ack
  EXPECT_EQ(t.ended(1), Code::ok);
  EXPECT_EQ(t.core.stats().settled_by_retry, 1u);
  EXPECT_EQ(t.core.stats().settled_doubts, 1u);
}

// It says that it has carried out nothing that it has not answered.
TEST(ClientChanges, WhatANodeThatClosesDidNotAnswerIsFreeToGoElsewhere) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  const SentOp first = t.take_change();
  EXPECT_EQ(first.op.token.store, kStore1);
  t.tell_refusal(n1, {Code::unavailable, "the node is closing"});
  EXPECT_TRUE(t.closed(n1));
  const ConnectionId n2 = t.connect("n2:1");
  t.pass(kRetry);
  const SentOp second = t.take_change();
  EXPECT_EQ(second.connection, n2);
  EXPECT_NE(second.op.token.store, kStore1) << "it need not wait until that node is back";
  t.answer(second, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientChanges, WhatWasSentBeforeStaysBoundThoughTheSecondNodeCloses) {
  ClientHarness t;
  t.drop(t.connect("n1:1"));
  t.add(1, "likes");
  const ConnectionId n2 = t.connect("n2:1");
  const SentOp first = t.take_change();
  t.drop(n2);
  const ConnectionId n3 = t.connect("n3:1");
  EXPECT_EQ(t.take_op().op.token, first.op.token);
  t.tell_refusal(n3, {Code::unavailable, "the node is closing"});
  t.connect("n1:1");
  t.pass(kRetry);
  EXPECT_EQ(t.take_op().op.token, first.op.token) << "the first copy may have been carried out";
}

TEST(ClientChanges, AnyOtherRefusalLeavesAnAddInDoubt) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  const SentOp first = t.take_change();
  t.tell_refusal(n1, {Code::protocol_error, "a request was begun and not finished"});
  t.connect("n2:1");
  t.pass(kRetry);
  EXPECT_EQ(t.take_op().op.token, first.op.token);
}

TEST(ClientChanges, AnAddThatIsAskedAboutAgainAfterAWillingChangeOfNodesWasNotInDoubt) {
  ClientHarness t;
  t.refuse("n1:1");
  t.connect("n2:1");
  t.add(1, "likes");
  static_cast<void>(t.take_change());
  t.pass(600ms);
  t.connect("n1:1");  // better, as the first seed
  t.answer(t.take_op(), Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
  EXPECT_EQ(t.core.stats().settled_by_retry, 1u);
  EXPECT_EQ(t.core.stats().settled_doubts, 0u);
}

TEST(ClientChanges, AnAddThatWasNeverSentIsFreeToGoThroughAndToAnotherNode) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  EXPECT_EQ(t.take_op().op.kind, OpKind::open_session);  // and is not answered
  t.drop(n1);
  t.connect("n2:1");
  const SentOp add = t.take_change();
  EXPECT_EQ(add.op.token.store, kStore2);
  t.answer(add, Code::ok);
  EXPECT_EQ(t.core.stats().settled_by_retry, 0u);
}

TEST(ClientChanges, AnAddInDoubtIsRetriedWithItsTokenUntilTheDeadline) {
  ClientHarness t;
  t.connect("n1:1");
  t.add(1, "likes", 1, 1s);
  const SentOp first = t.take_change();
  for (int tries = 0; tries < 5; ++tries) {
    const SentOp again = tries == 0 ? first : t.take_change();
    EXPECT_EQ(again.op.token, first.op.token);
    t.answer(again, Code::in_doubt, "waiting for n2");
    EXPECT_TRUE(t.ops.empty());
    t.pass(kRetry);
  }
  EXPECT_FALSE(t.ended(1));
  t.pass(1s);
  EXPECT_EQ(t.ended(1), Code::in_doubt);
  EXPECT_NE(t.status(1)->detail().find("waiting for n2"), std::string::npos);
}

TEST(ClientChanges, ARefusalForNowOfTheOnlySendingIsConclusiveSoANewNumberIsTaken) {
  for (const Code code : {Code::overloaded, Code::no_quorum, Code::stale_config}) {
    SCOPED_TRACE(describe(code).name);
    ClientHarness t;
    t.connect("n1:1");
    t.add(1, "likes");
    const SentOp first = t.take_change();
    t.answer(first, code);
    EXPECT_TRUE(t.ops.empty());  // it backs off
    t.pass(kRetry);
    const SentOp second = t.take_change();
    EXPECT_EQ(second.op.token.number, first.op.token.number + 1);
    EXPECT_EQ(second.op.token.floor, second.op.token.number);  // the first is settled
    t.answer(second, Code::ok);
    EXPECT_EQ(t.ended(1), Code::ok);
  }
}

TEST(ClientChanges, ARefusalForNowOfASecondSendingIsNotConclusive) {
  for (const Code code : {Code::overloaded, Code::unavailable, Code::storage_full,
                          Code::stale_config, Code::no_quorum, Code::session_window}) {
    SCOPED_TRACE(describe(code).name);
    ClientHarness t;
    const ConnectionId n1 = t.connect("n1:1");
    t.add(1, "likes");
    const SentOp first = t.take_change();
    t.drop(n1);
    t.connect("n2:1");
    t.answer(t.take_op(), code);
    t.pass(kRetry);
    const SentOp third = t.take_op();
    EXPECT_EQ(third.op.token, first.op.token);
    t.pass(5s);
    EXPECT_EQ(t.ended(1), Code::in_doubt);
  }
}

TEST(ClientChanges, ARefusalForGoodIsConclusiveHoweverOftenItWasSent) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  static_cast<void>(t.take_change());
  t.drop(n1);
  t.connect("n2:1");
  t.answer(t.take_op(), Code::out_of_range);
  EXPECT_EQ(t.ended(1), Code::out_of_range);
}

TEST(ClientChanges, WhenAnExecutorIsUnreachableTheOldAddWaitsAndNewOnesGoElsewhere) {
  ClientHarness t({.owners = {1, 2}});
  t.connect("n1:1");
  t.add(1, "likes");
  const SentOp old = t.take_change();
  EXPECT_EQ(old.op.token.store, kStore2);
  t.answer(old, Code::in_doubt);

  t.add(2, "likes");
  const SentOp fresh = t.take_change();
  EXPECT_EQ(fresh.op.token.store, kStore3);
  t.answer(fresh, Code::ok);
  EXPECT_EQ(t.ended(2), Code::ok);

  t.pass(kRetry);
  const SentOp again = t.take_change();
  EXPECT_EQ(again.op.token, old.op.token);
  t.answer(again, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientChanges, AnAddThatTheExecutorCertainlyDidNotGetGoesToAnotherAtOnce) {
  ClientHarness t({.owners = {1, 2}});
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_change(), Code::unavailable);
  const SentOp second = t.take_change();
  EXPECT_EQ(second.op.token.store, kStore3);
  t.answer(second, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientChanges, WithoutAnyOwnerTheConnectedNodeExecutes) {
  ClientHarness t({.owners = {1, 2}});
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_op(), Code::unavailable);  // n2's session
  t.answer(t.take_op(), Code::unavailable);  // n3's
  EXPECT_EQ(t.take_change().op.token.store, kStore1);
}

TEST(ClientChanges, AnExecutorThatFellSilentGetsNoNewAdds) {
  ClientHarness t({.owners = {1, 2}});
  t.connect("n1:1");
  t.add(1, "likes");
  const SentOp old = t.take_change();
  t.pass(600ms);
  t.add(2, "likes");
  const SentOp fresh = t.take_change();
  EXPECT_EQ(fresh.op.token.store, kStore3);
  t.answer(fresh, Code::ok);
  t.answer(old, Code::ok);  // it was only slow
  EXPECT_EQ(t.ended(1), Code::ok);
  t.add(3, "likes");
  EXPECT_EQ(t.take_change().op.token.store, kStore2);  // trusted again
}

TEST(ClientChanges, TheNodeThatBrokeOffGetsNoNewAddUntilItAnswers) {
  ClientHarness t({.owners = {0, 2}});
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_change(), Code::ok);  // so there is a session at n1
  t.drop(n1);
  t.connect("n2:1");
  t.add(2, "likes");
  const SentOp second = t.take_change();
  EXPECT_EQ(second.op.token.store, kStore3);
  t.answer(second, Code::ok);
  t.pass(500ms);      // still under suspicion
  t.connect("n1:1");  // better, as the first seed, and back
  t.add(3, "likes");
  EXPECT_EQ(t.take_change().op.token.store, kStore1);
}

TEST(ClientChanges, AnExecutorThatWasSuspectedIsProbedByASessionBeforeItGetsANewAdd) {
  ClientHarness t({.owners = {1}});
  t.connect("n1:1");
  t.add(1, "likes", 1, 10s);
  t.answer(t.take_change(), Code::unavailable);  // not applied; n1 executes it
  t.answer(t.take_change(), Code::ok);
  t.pass(1100ms);
  t.add(2, "likes");
  const SentOp probe = t.take_op();
  EXPECT_EQ(probe.op.kind, OpKind::open_session);
  EXPECT_EQ(probe.op.token.store, kStore2);
  t.answer(probe, Code::unavailable);
  const SentOp add = t.take_change();  // nothing was bound to n2
  EXPECT_EQ(add.op.token.store, kStore1);
}

TEST(ClientChanges, ATokenThatItsExecutorForgotIsOnlyReplacedIfItWasSentOnce) {
  for (const Code code : {Code::token_expired, Code::executor_gone}) {
    SCOPED_TRACE(describe(code).name);
    ClientHarness once;
    once.connect("n1:1");
    once.add(1, "likes");
    const SentOp first = once.take_change();
    once.answer(first, code);
    const SentOp second = once.take_change();
    EXPECT_FALSE(second.op.token.store == first.op.token.store &&
                 second.op.token.serial == first.op.token.serial);
    once.answer(second, Code::ok);
    EXPECT_EQ(once.ended(1), Code::ok);

    ClientHarness twice;
    const ConnectionId n1 = twice.connect("n1:1");
    twice.add(1, "likes");
    static_cast<void>(twice.take_change());
    twice.drop(n1);
    twice.connect("n2:1");
    twice.answer(twice.take_op(), code);
    EXPECT_EQ(twice.ended(1), code);
    EXPECT_EQ(twice.status(1)->outcome(), Outcome::unknown);
  }
}

TEST(ClientChanges, AnExecutorThatIsGoneMakesTheClientAskForTheConfig) {
  ClientHarness t;
  t.connect("n1:1");
  t.add(1, "likes");
  const std::size_t before = t.config_asks;
  t.answer(t.take_change(), Code::executor_gone);
  EXPECT_EQ(t.config_asks, before + 1);
}

TEST(ClientChanges, AFullDiskOfTheOnlyExecutorIsNamedAtOnce) {
  ClientHarness t({.members = 1});
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_op(), Code::storage_full, "no space left");  // to an open_session
  EXPECT_EQ(t.ended(1), Code::storage_full);
  EXPECT_EQ(t.status(1)->detail(), "no space left");
  t.add(2, "likes");  // without a question, for a while
  EXPECT_EQ(t.ended(2), Code::storage_full);
  EXPECT_TRUE(t.ops.empty());

  t.pass(1s);
  t.add(3, "likes");
  t.answer(t.take_change(), Code::storage_full);
  EXPECT_EQ(t.ended(3), Code::storage_full);
  t.pass(1s);
  t.add(4, "likes");
  t.answer(t.take_change(), Code::ok);
  EXPECT_EQ(t.ended(4), Code::ok);
}

TEST(ClientChanges, AFullDiskSendsAnAddElsewhereAndIsNamedOnceNobodyIsLeft) {
  ClientHarness t;
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_change(), Code::storage_full);
  const SentOp second = t.take_change();
  EXPECT_EQ(second.op.token.store, kStore2);
  t.answer(second, Code::unavailable);
  const SentOp third = t.take_change();
  EXPECT_EQ(third.op.token.store, kStore3);
  EXPECT_FALSE(t.ended(1));
  t.answer(third, Code::storage_full);
  t.pass(kRetry);
  EXPECT_EQ(t.ended(1), Code::storage_full);
}

TEST(ClientChanges, AFullDiskIsNoAnswerToWhatWasSentTwice) {
  ClientHarness t({.members = 1});
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes");
  static_cast<void>(t.take_change());
  t.drop(n1);
  t.connect("n1:1");
  t.answer(t.take_op(), Code::storage_full);
  t.pass(kRetry);
  EXPECT_FALSE(t.ended(1));
  t.answer(t.take_op(), Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientChanges, AFullDiskIsWaitedForUntilTheDeadlineIfThatIsAskedFor) {
  ClientHarness t({.members = 1, .wait_for_room = true});
  t.connect("n1:1");
  t.add(1, "likes", 1, 1s);
  const Instant until = t.now + 2s;
  while (t.now < until) {
    while (!t.ops.empty()) t.answer(t.take_op(), Code::storage_full, "no space left");
    t.pass(kRetry);
  }
  ASSERT_EQ(t.ended(1), Code::storage_full);
  EXPECT_EQ(t.status(1)->detail(), "no space left");
}

}  // namespace
}  // namespace quipu
