// How an add survives its client: what is journaled before it is sent, and how another
// client goes on with it. The harness holds each op to the rules of journal.h.
#include "cluster/client/journal.h"

#include <gtest/gtest.h>

#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;
using Kind = ClientJournalEntry::Kind;

ClientHarness::Options journaled(std::size_t members = 3) {
  return {.members = members, .journaled = true};
}

TEST(ClientJournal, AnAddIsBoundBeforeItIsSentAndSettledByItsAnswer) {
  ClientHarness t(journaled());
  t.connect("n1:1");
  t.add(7, "likes");
  const SentOp add = t.take_change();
  ASSERT_EQ(t.journal.size(), 1u);
  EXPECT_EQ(t.journal[0].kind, Kind::bound);
  EXPECT_EQ(t.journal[0].ticket, 7u);
  EXPECT_EQ(t.journal[0].binding.token, add.op.token);
  EXPECT_EQ(t.journal[0].binding.shard, add.op.shard);
  t.answer(add, Code::ok);
  ASSERT_EQ(t.journal.size(), 2u);
  EXPECT_EQ(t.journal[1].kind, Kind::settled);
  EXPECT_EQ(t.journal[1].ticket, 7u);
  EXPECT_EQ(t.journal[1].code, Code::ok);
}

TEST(ClientJournal, ARefusalForNowUnbindsAndTheNextTokenIsBound) {
  ClientHarness t(journaled(1));
  t.connect("n1:1");
  t.add(1, "likes");
  const SentOp first = t.take_change();
  t.answer(first, Code::overloaded);
  ASSERT_EQ(t.journal.size(), 2u);
  EXPECT_EQ(t.journal[1].kind, Kind::unbound);
  t.pass(200ms);
  const SentOp second = t.take_change();
  EXPECT_NE(second.op.token, first.op.token);
  EXPECT_GT(second.op.token.floor, first.op.token.number) << "nobody will retry the first";
  ASSERT_EQ(t.journal.size(), 3u);
  EXPECT_EQ(t.journal[2].binding.token, second.op.token);
}

TEST(ClientJournal, ARefusalForGoodSettles) {
  ClientHarness t(journaled());
  t.connect("n1:1");
  t.add(1, "full");
  t.answer(t.take_change(), Code::out_of_range);
  ASSERT_EQ(t.journal.size(), 2u);
  EXPECT_EQ(t.journal[1].code, Code::out_of_range);
}

// The token stays refused. But before the next client, the namespace may be defined, or the counter
// of another kind may be reset.
TEST(ClientJournal, ARefusalThatAnotherTokenMayEscapeUnbinds) {
  for (const Code code : {Code::undefined_namespace, Code::wrong_type}) {
    ClientHarness t(journaled());
    t.connect("n1:1");
    t.add(1, "likes:1");
    t.answer(t.take_change(), code);
    EXPECT_EQ(t.status(1)->code(), code);
    ASSERT_EQ(t.journal.size(), 2u);
    EXPECT_EQ(t.journal[1].kind, Kind::unbound);
  }
}

TEST(ClientJournal, AnAddThatStaysInDoubtKeepsItsNumberAlive) {
  ClientHarness t(journaled(1));
  t.connect("n1:1");
  t.add(1, "doubt", 1, 300ms);
  const SentOp doubt = t.take_change();
  t.pass(400ms);
  ASSERT_EQ(t.ended(1), Code::in_doubt);
  EXPECT_EQ(t.journal.size(), 1u) << "it is still bound";
  for (std::uint64_t call = 2; call < 5; ++call) {
    t.add(call, "k");
    const SentOp add = t.take_change();
    EXPECT_EQ(add.op.token.serial, doubt.op.token.serial);
    EXPECT_EQ(add.op.token.floor, doubt.op.token.number);
    t.answer(add, Code::ok);
  }
}

TEST(ClientJournal, WithoutItNothingIsNoted) {
  ClientHarness t;
  t.connect("n1:1");
  t.add(1, "likes");
  t.answer(t.take_change(), Code::ok);
  EXPECT_TRUE(t.journal.empty());
}

const ClientBinding kBinding{
    .shard = 3, .token = {.store = kStore2, .serial = Serial{44}, .number = 17, .floor = 12}};

TEST(ClientJournal, ABoundAddIsSentAgainAsItWasBound) {
  ClientHarness t(journaled());
  t.add_bound(1, "likes", kBinding);
  EXPECT_TRUE(t.ops.empty());
  t.connect("n1:1");
  const SentOp add = t.take_op();
  EXPECT_EQ(add.op.token, kBinding.token);
  EXPECT_EQ(add.op.shard, 3);
  EXPECT_EQ(add.key, "likes");
  t.answer(add, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
  EXPECT_EQ(t.core.stats().settled_doubts, 1u);
  ASSERT_EQ(t.journal.size(), 1u);
  EXPECT_EQ(t.journal[0].kind, Kind::settled);
}

// The dead client's copy may still arrive: a refusal for now proves nothing.
TEST(ClientJournal, ABoundAddThatIsRefusedForNowIsRetriedWithTheSameToken) {
  ClientHarness t(journaled());
  t.connect("n1:1");
  t.add_bound(1, "likes", kBinding);
  t.answer(t.take_op(), Code::unavailable);
  t.pass(200ms);
  const SentOp again = t.take_op();
  EXPECT_EQ(again.op.token, kBinding.token);
  t.answer(again, Code::ok);
  EXPECT_EQ(t.ended(1), Code::ok);
}

TEST(ClientJournal, ABoundAddThatNobodyCanTellOfAnyMoreIsSettledAsThat) {
  for (const Code code : {Code::token_expired, Code::executor_gone}) {
    ClientHarness t(journaled());
    t.connect("n1:1");
    t.add_bound(1, "likes", kBinding);
    t.answer(t.take_op(), code);
    EXPECT_EQ(t.ended(1), code);
    ASSERT_EQ(t.journal.size(), 1u);
    EXPECT_EQ(t.journal[0].code, code);
  }
}

// It is sent as soon as there is a link, before the config says that no member has that store.
TEST(ClientJournal, ABoundAddWhoseExecutorLeftTheClusterIsAnswered) {
  ClientHarness t(journaled());
  auto binding = kBinding;
  binding.token.store = StoreId{999};
  t.add_bound(1, "likes", binding);
  t.connect("n1:1");
  t.answer(t.take_op(), Code::executor_gone);
  EXPECT_EQ(t.ended(1), Code::executor_gone);
}

TEST(ClientJournal, ABoundAddThatIsNotAnsweredInTimeStaysBound) {
  ClientHarness t(journaled());
  t.add_bound(1, "likes", kBinding, 300ms);
  t.pass(400ms);
  EXPECT_EQ(t.ended(1), Code::in_doubt) << "although this client never sent it";
  EXPECT_TRUE(t.journal.empty());
}

TEST(ClientJournal, ABoundAddsSessionIsNotUsedForOthers) {
  ClientHarness t(journaled());
  t.connect("n1:1");
  t.add_bound(1, "likes", kBinding);
  static_cast<void>(t.take_op());
  t.add(2, "likes");
  EXPECT_NE(t.take_change().op.token.serial, Serial{44});
}

}  // namespace
}  // namespace quipu
