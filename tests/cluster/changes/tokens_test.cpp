// Exactly once across nodes: tokens, the executors they name, and the tokens that
// nodes give to what they forward.
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

TEST(Tokens, AddsAreForwardedToTheExecutorThatTheyName) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 3, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

TEST(Tokens, ARetryThroughAnotherNodeCountsOnce) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 3, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.code(nodes.add(2, "a", 3, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
  EXPECT_EQ(nodes.code(nodes.add(2, "a", 4, {.shard = 0, .token = token})), Code::token_reused);
}

// Else two members could send a request to and fro.
TEST(Tokens, AMembersRequestForASessionGoesNoFurther) {
  HandDriven nodes;
  std::size_t forwarded = 0;
  std::optional<Done> answer;
  nodes.meddle([&](MemberIndex from, MemberIndex to, PeerMessage& message) {
    if (from == 0 && to == 2 && std::holds_alternative<Forward>(message)) ++forwarded;
    if (const auto* told = std::get_if<Forwarded>(&message); told != nullptr && to == 1)
      answer = told->done.front();
    return HandDriven::Fate::deliver;
  });
  Op op;
  op.id = 77;
  op.kind = OpKind::open_session;
  op.token.store = nodes.meta(2).store;
  nodes.forge(1, 0, Forward{{op}});
  nodes.run();
  EXPECT_EQ(forwarded, 0u);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, Code::executor_gone);
}

TEST(Tokens, ADuplicateIsAcknowledgedOnlyWithItsRecord) {
  HandDriven nodes;
  const Token token = nodes.session(1, 1);
  nodes.stall(1);
  const auto first = nodes.add(1, "a", 3, {.shard = 0, .token = token});
  const auto second = nodes.add(1, "a", 3, {.shard = 0, .token = token});
  EXPECT_FALSE(nodes.done(first) || nodes.done(second));
  nodes.resume(1);
  EXPECT_EQ(nodes.code(second), Code::ok);
}

TEST(Tokens, ADuplicateAtQuorumWaitsForTheQuorum) {
  HandDriven nodes;
  const Token token = nodes.session(1, 1);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, {.shard = 0, .token = token})), Code::ok);
  nodes.pass(1s);
  nodes.stall(0), nodes.stall(2);
  (void)nodes.add(0, "x", 1), (void)nodes.add(2, "x", 1);  // so that acks wait for a disk
  const auto again = nodes.add(1, "a", 3, {.ack = Ack::quorum, .shard = 0, .token = token});
  EXPECT_FALSE(nodes.done(again));
  nodes.resume(2);
  EXPECT_EQ(nodes.code(again), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

// Whoever asks again and again for what was applied long ago waits at most in so
// many copies.
TEST(Tokens, DuplicatesThatWaitForAQuorumAreBounded) {
  HandDriven::Options options;
  options.settings.pending_operations = 4;
  HandDriven nodes(options);
  const Token token = nodes.session(1, 1);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, {.shard = 0, .token = token})), Code::ok);
  nodes.cut_off(1);
  std::vector<std::uint64_t> asked;
  for (int i = 0; i < 6; ++i)
    asked.push_back(nodes.add(1, "a", 3, {.ack = Ack::quorum, .shard = 0, .token = token}));
  EXPECT_FALSE(nodes.done(asked[3]));
  EXPECT_EQ(nodes.code(asked[4]), Code::in_doubt);  // it was applied
  EXPECT_EQ(nodes.code(asked[5]), Code::in_doubt);
}

// What an executor owes the life that asked is nothing to the next one, whose
// questions have other numbers.
TEST(Tokens, AnAnswerToAnEarlierLifeIsNotTakenForOneToALaterQuestion) {
  HandDriven nodes({.nodes = 4});
  const MemberIndex asker = 0;
  const std::string key = nodes.key_not_of(asker);
  const std::vector<MemberIndex> owners = nodes.owners(key);
  const MemberIndex executor = owners[0];
  ASSERT_EQ(nodes.code(nodes.add(asker, key, 1)), Code::ok);  // with a session of its own
  nodes.stall(owners[1]), nodes.stall(owners[2]);
  (void)nodes.add(asker, key, 1, {.ack = Ack::quorum, .timeout_ms = 60'000});
  EXPECT_EQ(nodes.held(executor, key), 2);
  nodes.restart(asker);
  nodes.pass(1s);  // those whose disks hang do not welcome it
  ASSERT_TRUE(nodes.up(asker, executor));
  ASSERT_EQ(nodes.code(nodes.add(asker, key, 1)), Code::ok);
  nodes.hold(asker, executor);
  const auto later = nodes.add(asker, key, 2);
  nodes.resume(owners[1]), nodes.resume(owners[2]);  // the quorum of the first one
  nodes.pass(200ms);
  EXPECT_FALSE(nodes.done(later));
  EXPECT_EQ(nodes.held(executor, key), 3);
}

TEST(Tokens, WhoseExecutorIsDownAreInDoubtAndNeverAppliedElsewhere) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  nodes.crash(1);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 3, {.shard = 0, .token = token})), Code::in_doubt);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 0);
}

TEST(Tokens, WhoseLinkBreaksMeanwhileAreInDoubtAtOnce) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  nodes.hold(1, 0);
  const auto add = nodes.add(0, "a", 3, {.shard = 0, .token = token});
  nodes.cut(0, 1);
  EXPECT_EQ(nodes.code(add), Code::in_doubt);
  nodes.release(1, 0);
  nodes.connect(0, 1);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 3, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

TEST(Tokens, OfAStoreThatNobodyHoldsSayThatItIsGone) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(nodes.code(nodes.add(node, "a", 3, {.shard = 0, .token = token})),
              Code::executor_gone)
        << node;
  }
}

TEST(Tokens, OfARestartedStoreAreInDoubtUntilItsPeersConfirmIt) {
  HandDriven nodes;
  const Token token = nodes.session(1, 1);
  nodes.crash(1);
  nodes.start(1);
  const Ask ask{.shard = 0, .token = token};
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, ask)), Code::in_doubt);  // before it serves
  nodes.pass(1500ms);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, ask)),
            Code::in_doubt);  // and while it is not confirmed
  nodes.connect(1, 0);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, ask)), Code::in_doubt);
  nodes.connect(1, 2);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, ask)), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

TEST(Tokens, AppliedBeforeARestartAreKnownAfterIt) {
  HandDriven nodes;
  const Token token = nodes.session(1, 1);
  ASSERT_EQ(nodes.code(nodes.add(1, "a", 3, {.shard = 0, .token = token})), Code::ok);
  nodes.crash(1);
  nodes.start(1);
  nodes.pass(2s);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 3, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

// It was raised when the first copy came; the one who knows is now out of reach.
TEST(Tokens, ARetryIsAnsweredThoughTheShardCountCannotBeLearned) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.raise(1, key, 4)), Code::ok);
  const Ask ask{.shard = 3, .token = nodes.session(0, 0)};
  ASSERT_EQ(nodes.code(nodes.add(0, key, 3, ask)), Code::ok);
  nodes.pass(1s);
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 3, ask)), Code::ok);
}

// Its second one there is carried out, and the answer goes with the link.
std::uint64_t add_unanswered(HandDriven& nodes, const std::string& key, Ask ask = {}) {
  const MemberIndex executor = nodes.owners(key)[0];
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);  // opens the session
  nodes.hold(executor, 0);
  const std::uint64_t add = nodes.add(0, key, 1, ask);
  EXPECT_EQ(nodes.held(executor, key), 2);
  EXPECT_FALSE(nodes.done(add));
  nodes.cut(0, executor);
  nodes.release(executor, 0);
  return add;
}

TEST(ForwardedAdds, AreSentAgainAfterALostLinkAndCountOnce) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  const std::uint64_t add = add_unanswered(nodes, key);
  nodes.connect(0, executor);
  EXPECT_EQ(nodes.code(add), Code::ok);
  EXPECT_EQ(nodes.held(executor, key), 2);
}

TEST(ForwardedAdds, RefusedAsUnappliedAfterASecondSendingAreNotBelieved) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  const std::uint64_t add = add_unanswered(nodes, key, {.timeout_ms = 2000});
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* answer = std::get_if<Forwarded>(&message)) answer->done.at(0).code = Code::overloaded;
    return HandDriven::Fate::deliver;
  });
  nodes.connect(0, executor);
  nodes.pass(1s);
  EXPECT_FALSE(nodes.done(add));
  nodes.be_fair();
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(ForwardedAdds, RefusedTheFirstTimeAreUnapplied) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* forward = std::get_if<Forward>(&message)) forward->ops.at(0).amount = 0;
    if (auto* answer = std::get_if<Forwarded>(&message)) answer->done.at(0).code = Code::overloaded;
    return HandDriven::Fate::deliver;
  });
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::overloaded);
}

TEST(ForwardedAdds, ThatWereNeverSentGoElsewhereWhenTheLinkIsLost) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  nodes.hold(executor, 0);  // no session comes
  const auto add = nodes.add(0, key, 1);
  nodes.cut(0, executor);
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(add), Code::ok);
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(nodes.owners(key)[1], key, ReadLevel::strong), 1);
}

TEST(ForwardedAdds, MoreThanASessionHoldsOpenAnother) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  nodes.hold(0, executor);
  for (int i = 0; i < 3000; ++i) (void)nodes.add(0, key, 1);
  nodes.release(0, executor);
  EXPECT_EQ(nodes.held(executor, key), 3000);
}

HandDriven::Options two_sessions() {
  HandDriven::Options options = five();
  options.settings.tokens.sessions = 2;
  return options;
}

// Newer ones take their places.
void drop_sessions(HandDriven& nodes, MemberIndex executor) {
  for (int i = 0; i < 2; ++i) (void)nodes.session(executor, executor);
}

TEST(ForwardedAdds, WhoseSessionWasDroppedOpenAnother) {
  HandDriven nodes(two_sessions());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  drop_sessions(nodes, executor);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::in_doubt);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  EXPECT_EQ(nodes.held(executor, key), 3);
}

// It counted, and its executor has forgotten it.
TEST(ForwardedAdds, WhoseSessionWasDroppedBeforeTheAnswerAreInDoubt) {
  HandDriven nodes(two_sessions());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key)[0];
  const std::uint64_t add = add_unanswered(nodes, key);
  drop_sessions(nodes, executor);
  nodes.connect(0, executor);
  EXPECT_EQ(nodes.code(add), Code::in_doubt);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  EXPECT_EQ(nodes.held(executor, key), 3);
}

TEST(ForwardedAdds, ARefusedSessionIsAskedForAgainAtTheNextInterval) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* answer = std::get_if<Forwarded>(&message))
      answer->done.at(0).code = Code::unavailable;
    return HandDriven::Fate::deliver;
  });
  const auto add = nodes.add(0, key, 1);
  nodes.be_fair();
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

}  // namespace
}  // namespace quipu::test
