// Local and fresh reads: where they look, how old they say they are, and what
// they cost.
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

Value local(HandDriven& nodes, MemberIndex node, std::string_view key) {
  return nodes.value(nodes.read(node, key, ReadLevel::local))
      .value_or(Value{.code = Code::in_doubt});
}

Value fresh(HandDriven& nodes, MemberIndex node, std::string_view key) {
  return nodes.value(nodes.read(node, key, ReadLevel::fresh))
      .value_or(Value{.code = Code::in_doubt});
}

MemberIndex edge_of(const HandDriven& nodes) {
  MemberIndex edge = 0;
  while (nodes.config().members[edge].weight != 0) ++edge;
  return edge;
}

// An add of 3 was acked just now: whoever lacks it must say so.
void expect_true_ages(HandDriven& nodes, MemberIndex node, const std::string& key) {
  for (unsigned ms = 10; ms <= 500; ms += 10) {
    nodes.pass(10ms);
    const Value value = local(nodes, node, key);
    ASSERT_TRUE(value.value == 3 || value.age_ms >= ms) << value.age_ms << " after " << ms;
  }
}

TEST(LocalRead, IsCompleteAndYoungWhileTheNetworkWorks) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(1s);
  const Value value = local(nodes, 1, "a");
  EXPECT_EQ(value.value, 3);
  EXPECT_TRUE(value.complete);
  EXPECT_LE(value.age_ms, 300u);
}

TEST(LocalRead, GrowsOldWhileCutOffAndRecovers) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut(0, 1);
  nodes.pass(5s);
  EXPECT_FALSE(local(nodes, 1, "a").complete);
  EXPECT_GE(local(nodes, 1, "a").age_ms, 5000u);
  EXPECT_LE(local(nodes, 1, "a").age_ms, 5500u);
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_TRUE(local(nodes, 1, "a").complete);
  EXPECT_LE(local(nodes, 1, "a").age_ms, 300u);
}

TEST(LocalRead, AfterABrokenLinkIsCompleteOnlyOnceItHasPulledFromThere) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.meddle([](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool dropped = from == 0 && to == 1 && std::holds_alternative<Pulled>(message);
    return dropped ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.cut(0, 1);
  nodes.connect(0, 1);
  nodes.pass(2s);
  EXPECT_FALSE(local(nodes, 1, "a").complete);
  EXPECT_GE(local(nodes, 1, "a").age_ms, 2000u);
  nodes.be_fair();
  nodes.cut(0, 1);
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_TRUE(local(nodes, 1, "a").complete);
}

TEST(LocalRead, NeverClaimsToHoldWhatItMisses) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.stall(1);  // 1 does not make durable what it hears, so it does not ack
  (void)nodes.add(0, "a", 3);
  nodes.hold(0, 1);
  nodes.pass(2s);
  const Value value = local(nodes, 1, "a");
  EXPECT_TRUE(value.value == 3 || value.age_ms >= 2000u) << value.age_ms;
}

// What a frame to another node seals is in no outbox yet when the beats of that moment leave.
TEST(LocalRead, NeverClaimsToHoldWhatWasSealedWhileTheDiskWasBusy) {
  HandDriven nodes(five());
  nodes.pass(30ms);
  nodes.restart(0);  // its beats come between those of the others
  nodes.pass(1080ms);
  const std::string a = nodes.key_of(0);
  const MemberIndex executor = nodes.owners(a)[0] == 0 ? nodes.owners(a)[1] : nodes.owners(a)[0];
  std::string b;  // of the executor's outboxes to others
  for (std::size_t nth = 0; b.empty() || !nodes.owns(executor, b); ++nth)
    b = nodes.key_not_of(0, nth);
  nodes.stall(executor);
  (void)nodes.add(executor, b, 1);
  const std::uint64_t id = nodes.add(executor, a, 3, {.ack = Ack::memory});
  ASSERT_EQ(nodes.code(id), Code::ok);
  expect_true_ages(nodes, 0, a);
}

// Nobody waits to hear of it from an edge node: the owners tell each other.
TEST(LocalRead, NeverMissesAShardThatAnEdgeNodeRaised) {
  HandDriven nodes({.nodes = 4, .edges = {3}});
  const MemberIndex edge = edge_of(nodes);
  std::vector<MemberIndex> owners = nodes.all();
  std::erase(owners, edge);
  nodes.pass(1s);
  nodes.cut(owners[0], edge);
  ASSERT_EQ(nodes.code(nodes.raise(edge, "a", 4)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(owners[1], "a", 3, {.ack = Ack::quorum, .shard = 3})), Code::ok);
  expect_true_ages(nodes, owners[0], "a");
  EXPECT_EQ(local(nodes, owners[0], "a").value, 3);
}

TEST(LocalRead, IsIncompleteUntilAStartedNodeHasPulledFromAll) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(1s);
  nodes.crash(1);
  nodes.start(1);
  nodes.connect(0, 1);
  nodes.pass(2s);
  EXPECT_FALSE(local(nodes, 1, "a").complete);  // 2 was not heard since
  EXPECT_EQ(local(nodes, 1, "a").age_ms, kUnknownAge);
  nodes.connect(1, 2);
  nodes.pass(1s);
  EXPECT_TRUE(local(nodes, 1, "a").complete);
}

// What a lost disk had told another node and not this one, its successor does not know of.
TEST(LocalRead, AfterAStoreWasReplacedIsCompleteOnlyOnceItHasPulledFromTheOthers) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.hold(2, 0);
  ASSERT_EQ(nodes.code(nodes.add(2, "a", 3, {.ack = Ack::quorum})), Code::ok);  // on 1 and 2
  nodes.pass(1s);
  nodes.meddle([](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool dropped = from == 1 && to == 0 && std::holds_alternative<Pulled>(message);
    return dropped ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.wipe(2, NewStore::marked);
  nodes.release(2, 0);
  nodes.start(2);
  nodes.connect(2);
  for (int i = 1; i <= 10; ++i) {
    nodes.pass(200ms);
    ASSERT_TRUE(nodes.up(0, 2)) << nodes.peer_state(0, 2);
    EXPECT_EQ(local(nodes, 0, "a").value, 0);
    EXPECT_FALSE(local(nodes, 0, "a").complete);
    EXPECT_GE(local(nodes, 0, "a").age_ms, 1000u + 200u * static_cast<unsigned>(i));
  }
  nodes.be_fair();
  nodes.cut(0, 1);
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_TRUE(local(nodes, 0, "a").complete);
  EXPECT_EQ(local(nodes, 0, "a").value, 3);
}

// Who does not know of it yet may still be told something by the old one.
TEST(LocalRead, AfterAStoreWasReplacedIsCompleteOnlyByWhatWasPulledFromWhoKnowsOfIt) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.meddle([](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool dropped = from == 0 && to == 1 && std::holds_alternative<Hello>(message);
    return dropped ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.wipe(2, NewStore::marked);
  nodes.start(2);
  nodes.connect(0, 2);
  nodes.pass(2s);
  ASSERT_TRUE(nodes.up(0, 2)) << nodes.peer_state(0, 2);
  ASSERT_TRUE(nodes.up(0, 1)) << nodes.peer_state(0, 1);
  EXPECT_FALSE(local(nodes, 0, "a").complete);
  nodes.connect(1, 2);
  nodes.pass(1s);
  EXPECT_TRUE(local(nodes, 0, "a").complete);
}

TEST(LocalRead, IsAsCompleteAfterTheStoreOfOneThatOwnsNothingWasReplaced) {
  HandDriven nodes({.nodes = 4, .edges = {3}});
  const std::vector<MemberIndex> all = nodes.all();
  const MemberIndex edge = edge_of(nodes);
  const MemberIndex other = edge == 0 ? 1 : 0;
  nodes.wipe(edge, NewStore::marked);
  nodes.restart(other);  // and has not heard of the edge since
  nodes.pass(1s);
  for (const MemberIndex peer : all) {
    if (peer != edge) nodes.hold(peer, other);
  }
  nodes.start(edge);
  nodes.connect(edge);
  ASSERT_TRUE(nodes.up(other, edge)) << nodes.peer_state(other, edge);
  EXPECT_TRUE(local(nodes, other, "a").complete);
}

TEST(LocalRead, OfAnotherNodesCounterAsksAnOwnerOnceAndThenRemembers) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  (void)nodes.add(0, key, 3);
  nodes.pass(1s);
  (void)nodes.take_traffic();
  EXPECT_EQ(local(nodes, 0, key).value, 3);
  EXPECT_EQ(local(nodes, 0, key).value, 3);
  EXPECT_EQ(nodes.take_traffic()[FrameType::collect], 1u);
  EXPECT_TRUE(local(nodes, 0, key).complete);
}

TEST(LocalRead, ConcurrentReadersShareOneQuestion) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.pass(1s);
  for (const MemberIndex owner : nodes.owners(key)) nodes.hold(0, owner);
  const auto one = nodes.read(0, key, ReadLevel::local);
  const auto two = nodes.read(0, key, ReadLevel::local);
  EXPECT_FALSE(nodes.value(one) || nodes.value(two));
  (void)nodes.take_traffic();
  for (const MemberIndex owner : nodes.owners(key)) nodes.release(0, owner);
  EXPECT_TRUE(nodes.value(one) && nodes.value(two));
  EXPECT_EQ(nodes.take_traffic()[FrameType::collect], 1u);
}

TEST(LocalRead, OfAHotCounterCostsOneQuestionAnInterval) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.pass(1s);
  (void)nodes.take_traffic();
  for (int i = 0; i < 100; ++i) {
    for (int reader = 0; reader < 5; ++reader) (void)nodes.read(0, key, ReadLevel::local);
    nodes.pass(10ms);
  }
  EXPECT_LE(nodes.take_traffic()[FrameType::collect], 11u);
}

TEST(LocalRead, SeesWhatTheOwnersLearnWithinTwoIntervals) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  (void)local(nodes, 0, key);
  (void)nodes.add(nodes.owners(key)[1], key, 5);
  nodes.pass(200ms);
  (void)local(nodes, 0, key);
  nodes.pass(200ms);
  EXPECT_EQ(local(nodes, 0, key).value, 5);
}

TEST(LocalRead, OfWhatNobodyReadsAnyMoreIsNotAskedFor) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  (void)local(nodes, 0, key);
  nodes.pass(1s);
  (void)nodes.take_traffic();
  nodes.pass(10s);
  EXPECT_EQ(nodes.take_traffic()[FrameType::collect], 0u);
}

TEST(FreshRead, AsksTheNextOwnerWhenALinkIsLost) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  (void)nodes.add(0, key, 3);
  nodes.pass(1s);
  for (const MemberIndex owner : nodes.owners(key)) nodes.hold(owner, 0);
  const auto read = nodes.read(0, key, ReadLevel::fresh);
  EXPECT_FALSE(nodes.value(read));
  const auto owners = nodes.owners(key);
  nodes.cut(0, owners[0]);
  EXPECT_FALSE(nodes.value(read));
  for (const MemberIndex owner : owners) nodes.release(owner, 0);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
}

TEST(FreshRead, WithoutALiveOwnerSaysThatItIsNotComplete) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.pass(1s);
  nodes.cut_off(0);
  const Value value = fresh(nodes, 0, key);
  EXPECT_EQ(value.code, Code::ok);
  EXPECT_FALSE(value.complete);
  EXPECT_EQ(value.age_ms, kUnknownAge);
}

TEST(FreshRead, SumsTheShardsOfSeveralOwners) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.raise(0, key, 16)), Code::ok);
  for (ShardIndex shard = 0; shard < 16; ++shard) {
    EXPECT_EQ(nodes.code(nodes.add(0, key, 1, {.ack = Ack::quorum, .shard = shard})), Code::ok)
        << shard;
  }
  nodes.pass(1s);
  const Value value = fresh(nodes, 0, key);
  EXPECT_EQ(value.value, 16);
  EXPECT_EQ(value.shards, 16);
  EXPECT_TRUE(value.complete);
}

TEST(Read, OfAnInvalidKeySaysSoAndAnswersTheRest) {
  HandDriven nodes;
  EXPECT_EQ(local(nodes, 0, "").code, Code::invalid_argument);
  EXPECT_EQ(local(nodes, 0, std::string(kMaxKey + 1, 'x')).code, Code::invalid_argument);
  EXPECT_EQ(local(nodes, 0, std::string(kMaxKey, 'x')).code, Code::ok);
}

TEST(LocalRead, OfWhatIsHeldHereGoesOnWhileOthersFillTheRoomToWait) {
  HandDriven::Options options;
  options.settings.pending_read_bytes = 2'000;
  HandDriven nodes(options);
  const std::string key(400, 'k');
  ASSERT_EQ(nodes.code(nodes.add(0, key, 5)), Code::ok);
  nodes.cut_off(0);
  for (int i = 0; i < 10; ++i) (void)nodes.read(0, key, ReadLevel::strong, 1000);
  EXPECT_EQ(nodes.value(nodes.read(0, key, ReadLevel::strong, 1000))->code, Code::overloaded);
  EXPECT_EQ(nodes.total(0, key, ReadLevel::local), 5);
}

TEST(Read, BeyondTheBoundOfWaitingOnesIsRefused) {
  HandDriven::Options options;
  options.settings.pending_operations = 3;
  HandDriven nodes(options);
  nodes.cut_off(0);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(nodes.value(nodes.read(0, "a", ReadLevel::strong)));
  const auto refused = nodes.value(nodes.read(0, "a", ReadLevel::strong));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::overloaded);
}

TEST(FreshRead, OfAnOwnerWhoseDiskHangsIsAnsweredByAnotherOne) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const MemberIndex first = nodes.owners(key).front();
  ASSERT_EQ(nodes.code(nodes.add(first, key, 5)), Code::ok);
  nodes.pass(1s);
  nodes.stall(first);
  (void)nodes.add(first, key, 1);
  const auto read = nodes.read(0, key, ReadLevel::fresh);
  EXPECT_FALSE(nodes.value(read));
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 5);
}

TEST(LocalRead, OfWhatAnAnswerBroughtIsAsOldAsTheQuestion) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const auto owners = nodes.owners(key);
  ASSERT_EQ(nodes.code(nodes.add(owners[0], key, 5)), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex owner : owners) {
    nodes.stall(owner);
    (void)nodes.add(owner, key, 1);
  }
  const auto read = nodes.read(0, key, ReadLevel::local, 5000);
  nodes.pass(2s);
  for (const MemberIndex owner : owners) nodes.resume(owner);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_GE(nodes.value(read)->age_ms, 1900u);
  EXPECT_FALSE(nodes.value(read)->complete);
}

}  // namespace
}  // namespace quipu::test
