// Strong reads: what they count, what they write back, and when they refuse.
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

TEST(StrongRead, OfIdenticalCopiesWritesNothingBack) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(1s);
  (void)nodes.take_traffic();
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 3);
  EXPECT_EQ(nodes.take_traffic()[FrameType::write_back], 0u);
}

TEST(StrongRead, OfDifferingCopiesIsAnsweredOnlyOnceAMajorityHoldsTheJoin) {
  HandDriven nodes;
  nodes.pass(1s);
  (void)nodes.add(0, "a", 3);  // only on 0 until the next interval
  nodes.cut(1, 2);
  nodes.stall(1);
  const auto read = nodes.read(1, "a", ReadLevel::strong);
  EXPECT_FALSE(nodes.value(read));
  nodes.resume(1);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

// The join that a majority holds does not say so, and a slower clock would show the counter again.
TEST(StrongRead, TellsOfNoEndThatCameAfterItHadCollected) {
  HandDriven nodes;
  nodes.pass(1s);
  Op add{.key = "a", .amount = 3, .ttl_ms = 400, .kind = OpKind::add};
  ASSERT_EQ(nodes.code(nodes.op(0, add)), Code::ok);  // only on 0 until the next interval
  nodes.cut(1, 2);
  nodes.stall(1);
  const auto read = nodes.read(1, "a", ReadLevel::strong);
  nodes.pass(500ms);
  ASSERT_FALSE(nodes.value(read));
  nodes.resume(1);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
  EXPECT_EQ(nodes.value(read)->expires_in_ms, 1u);
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 0);
}

// Meanwhile the other owners have forgotten that the counter has ended.
TEST(StrongRead, CollectsAnewWhatItCollectedLongAgo) {
  HandDriven nodes;
  nodes.pass(1s);
  ASSERT_EQ(nodes.code(nodes.op(1, {.key = "a", .amount = 3, .ttl_ms = 900})), Code::ok);
  nodes.pass(500ms);
  nodes.meddle([](MemberIndex, MemberIndex to, PeerMessage& message) {
    const bool answer = to == 1 && std::holds_alternative<Collected>(message);
    return answer ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const auto read = nodes.read(1, "a", ReadLevel::strong, 60'000);
  for (int i = 0; i < 200; ++i) nodes.pass(100ms);
  ASSERT_FALSE(nodes.value(read));
  nodes.be_fair();
  for (int i = 0; i < 10; ++i) nodes.pass(100ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
  EXPECT_EQ(nodes.value(read)->value, 0);
}

// Who told a state late does not hold the join.
TEST(StrongRead, ALateAnswerIsNotTakenForAWriteBack) {
  HandDriven nodes;
  nodes.pass(1s);
  (void)nodes.add(0, "a", 3);  // only on 0 until the next interval
  nodes.hold(2, 1);
  nodes.stall(1);  // so that 0 alone confirms the join
  nodes.meddle([](MemberIndex from, MemberIndex, PeerMessage& message) {
    const bool late = from == 2 && std::holds_alternative<WrittenBack>(message);
    return late ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const auto read = nodes.read(1, "a", ReadLevel::strong);
  nodes.release(2, 1);
  EXPECT_FALSE(nodes.value(read));
  nodes.resume(1);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
}

TEST(StrongRead, CountsEveryAddAcknowledgedAtQuorum) {
  HandDriven nodes;
  nodes.cut(0, 2);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3, {.ack = Ack::quorum})), Code::ok);  // on 0 and 1
  nodes.crash(0);
  EXPECT_EQ(nodes.total(2, "a", ReadLevel::strong), 3);
}

TEST(StrongRead, SeesWhatAnEarlierOneSawThoughItsExecutorIsGone) {
  HandDriven nodes;
  nodes.cut_off(0);
  nodes.add(0, "a", 3);
  nodes.connect(0, 1);
  ASSERT_EQ(nodes.total(1, "a", ReadLevel::strong), 3);
  nodes.crash(0);
  EXPECT_EQ(nodes.total(2, "a", ReadLevel::strong), 3);
}

TEST(StrongRead, DoesNotCountAReplicaWithOtherPinsAndAsksItAgain) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(200ms);
  nodes.cut(0, 2);
  bool stale = true;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    if (auto* answer = std::get_if<Collected>(&message); answer && stale && from == 1)
      answer->code = Code::stale_config;
    return HandDriven::Fate::deliver;
  });
  const auto read = nodes.read(0, "a", ReadLevel::strong);
  EXPECT_FALSE(nodes.value(read));
  stale = false;
  nodes.pass(200ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
}

TEST(StrongRead, AReplicaTellsWhoeverGoesByOtherPinsThatTheyAreStale) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(1s);
  std::map<FrameType, Code> answers;
  std::map<std::uint64_t, std::size_t> states;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    if (from != 0) return HandDriven::Fate::deliver;
    if (const auto* answer = std::get_if<Collected>(&message)) {
      answers[FrameType::collected] = answer->code;
      states[answer->id] = answer->states.size();
    }
    if (const auto* answer = std::get_if<WrittenBack>(&message))
      answers[FrameType::written_back] = answer->code;
    if (const auto* ack = std::get_if<DeltaAck>(&message))
      answers[FrameType::delta_ack] = ack->code;
    return HandDriven::Fate::deliver;
  });
  nodes.forge(1, 0, Collect{1, Fence{7}, {{"a", 0}}});
  nodes.forge(1, 0, WriteBack{2, Fence{7}, Delta{}, {}});
  nodes.forge(1, 0, DeltaFrame{3, Fence{7}, Delta{}});
  EXPECT_EQ(answers.size(), 3U);
  for (const auto& [type, code] : answers) EXPECT_EQ(code, Code::stale_config);
  EXPECT_EQ(states[1], 0U);

  nodes.forge(1, 0, Collect{4, Fence{}, {{"a", 0}}});  // who counts nothing may ask anybody
  EXPECT_EQ(answers[FrameType::collected], Code::ok);
  EXPECT_EQ(states[4], 1U);
}

// After the sync, since a pin may move while it lasts.
TEST(StrongRead, AReplicaJudgesTheFenceWhenItsAnswerLeaves) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.wipe(2, NewStore::marked);
  nodes.stall(0);
  (void)nodes.add(0, "a", 3);
  std::vector<Code> answers;
  nodes.meddle([&](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const auto* answer = std::get_if<Collected>(&message);
    if (answer && from == 0 && to == 1) answers.push_back(answer->code);
    return HandDriven::Fate::deliver;
  });
  nodes.hold(0, 1), nodes.hold(2, 1);
  (void)nodes.read(1, "a", ReadLevel::strong);  // asks by the pins as they are
  nodes.start(2);
  nodes.connect(0, 2);
  EXPECT_TRUE(answers.empty());
  nodes.resume(0);  // has pinned 2's new store by now
  nodes.release(0, 1);
  ASSERT_FALSE(answers.empty());
  EXPECT_EQ(answers.front(), Code::stale_config);
}

// Copies that were identical are so no more: one of them was lost.
TEST(StrongRead, CountsAnewOnceAStoreWasReplacedMeanwhile) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.raise(1, "a", 3)), Code::ok);
  nodes.pass(1s);
  nodes.cut_off(0);
  (void)nodes.add(1, "a", 3, {.shard = 1});
  nodes.pass(200ms);
  ASSERT_EQ(nodes.held(2, "a", 1), 3);
  (void)nodes.add(2, "a", 5, {.shard = 2});  // only on 2 until the next interval
  nodes.stall(1);                            // so that the join of that shard waits
  const auto read = nodes.read(1, "a", ReadLevel::strong);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    const bool repairs =
        std::holds_alternative<Pulled>(message) || std::holds_alternative<DeltaFrame>(message);
    return repairs ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.wipe(2, NewStore::marked);
  nodes.start(2);
  nodes.connect_all();
  EXPECT_FALSE(nodes.value(read));
  nodes.resume(1);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 8);
  EXPECT_EQ(nodes.held(0, "a", 2), 5);
  EXPECT_EQ(nodes.held(0, "a", 1), 3) << "one of two that held it was lost";
}

// Written by thousands of nodes: states that fill frames.
TEST(StrongRead, OfShardsThatExceedAFrameAsksForThemInPieces) {
  constexpr ShardIndex kSpread = 16;
  for (const std::uint64_t cells : {1'000U, 4'000U}) {
    SCOPED_TRACE(cells);
    HandDriven nodes;
    ASSERT_EQ(nodes.code(nodes.raise(0, "a", kSpread)), Code::ok);
    nodes.pass(1s);
    nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
      const bool repair = std::holds_alternative<Pulled>(message);
      return repair ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
    });
    // Half of each shard's cells are at 0 alone, the other half at 1.
    for (ShardIndex shard = 0; shard < kSpread; ++shard) {
      for (const MemberIndex node : {MemberIndex{0}, MemberIndex{1}}) {
        ShardState state{{},
                         static_cast<ShardIndex>(shard == 0 ? kSpread : 1),
                         static_cast<ShardIndex>(shard == 0 ? kSpread : 1)};
        for (std::uint64_t i = 0; i < cells; ++i) {
          state.cells.push_back({ActorId{(node + 1) * 100'000 + i}, Commit{i + 1}, 1, {}, 0});
        }
        DeltaFrame frame{shard + 1'000'000ULL, Fence{}, Delta{}};
        frame.delta.push({"a", shard}, state);
        nodes.forge(2, node, frame);
      }
    }
    nodes.cut_off(2);
    const auto read = nodes.read(0, "a", ReadLevel::strong);
    nodes.pass(3s);
    ASSERT_TRUE(nodes.value(read));
    EXPECT_EQ(nodes.value(read)->code, Code::ok);
    EXPECT_EQ(nodes.value(read)->value, static_cast<std::int64_t>(2 * kSpread * cells));
  }
}

TEST(StrongRead, WithoutAMajorityFailsAtItsDeadline) {
  HandDriven nodes;
  nodes.cut_off(0);
  const auto read = nodes.read(0, "a", ReadLevel::strong, 1000);
  nodes.pass(900ms);
  EXPECT_FALSE(nodes.value(read));
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::no_quorum);
}

TEST(StrongRead, BeyondTheBytesThatMayWaitIsRefusedUntilOthersEnd) {
  HandDriven::Options options;
  options.settings.pending_read_bytes = 2'000;
  HandDriven nodes(options);
  nodes.cut_off(0);
  const std::string key(400, 'k');
  const auto first = nodes.read(0, key, ReadLevel::strong, 1000);
  for (int i = 0; i < 10; ++i) (void)nodes.read(0, key, ReadLevel::strong, 1000);
  const auto last = nodes.read(0, key, ReadLevel::strong, 1000);
  EXPECT_FALSE(nodes.value(first));
  ASSERT_TRUE(nodes.value(last));
  EXPECT_EQ(nodes.value(last)->code, Code::overloaded);
  nodes.pass(1500ms);
  EXPECT_FALSE(nodes.value(nodes.read(0, key, ReadLevel::strong, 1000))) << "there is room again";
}

TEST(StrongRead, AsksTheOwnCopyAgainThatHadNoRoomToAnswer) {
  HandDriven::Options options;
  options.settings.unsynced_bytes = 10'000;
  options.settings.backlog_bytes = 10'000;
  HandDriven nodes(options);
  nodes.cut(0, 2);
  nodes.stall(0);
  for (int i = 0; i < 100; ++i) (void)nodes.add(0, std::string(300, 'k') + std::to_string(i), 1);
  ASSERT_TRUE(nodes.core(0).paused());
  const auto read = nodes.read(0, "a", ReadLevel::strong, 5000);
  nodes.pass(200ms);
  EXPECT_FALSE(nodes.value(read));
  nodes.resume(0);
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.value(read)) << "of two owners that are up, one was never asked again";
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
}

TEST(StrongRead, EndsWhenTheMajorityComesBackInTime) {
  HandDriven nodes;
  nodes.cut_off(0);
  const auto read = nodes.read(0, "a", ReadLevel::strong);
  nodes.pass(500ms);
  nodes.connect(0, 1);
  nodes.pass(200ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
}

HandDriven::Fate drop_repairs(const PeerMessage& message) {
  const bool repairs =
      std::holds_alternative<Pulled>(message) || std::holds_alternative<DeltaFrame>(message);
  return repairs ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
}

// It names the starts that it was collected from.
TEST(StrongRead, AReplicaRefusesAWriteBackFromAStartThatItHasNotMetUntilItHas) {
  HandDriven::Options options;
  options.nodes = 4;
  options.edges = {3};
  HandDriven nodes(options);
  nodes.pass(1s);
  nodes.cut_off(2);
  std::vector<Code> answers;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    const auto* written = std::get_if<WrittenBack>(&message);
    if (written != nullptr && from == 1) answers.push_back(written->code);
    return drop_repairs(message);
  });
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3)), Code::ok);  // on 0 alone
  nodes.crash(1);
  nodes.start(1);
  nodes.connect(1, 3);
  const auto read = nodes.read(3, "a", ReadLevel::strong);
  nodes.pass(1s);
  EXPECT_FALSE(nodes.value(read));
  EXPECT_EQ(nodes.held(1, "a"), 0);
  ASSERT_FALSE(answers.empty());
  for (const Code code : answers) EXPECT_EQ(code, Code::stale_config);
  nodes.connect(0, 1);
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

TEST(StrongRead, DoesNotWaitForAReplicaThatRefusesAWriteBackIfTheRestAreEnough) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut_off(1);
  nodes.meddle(
      [](MemberIndex, MemberIndex, PeerMessage& message) { return drop_repairs(message); });
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3)), Code::ok);  // on 0 alone
  nodes.crash(1);
  nodes.start(1);
  nodes.connect(1, 2);  // it does not meet 0
  nodes.hold(1, 2);     // so that 0 and 2 tell what is written back
  const auto read = nodes.read(2, "a", ReadLevel::strong);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, 3);
  EXPECT_EQ(nodes.held(1, "a"), 0);
}

// Nothing is lost by an ordinary restart, but nobody can tell it from another.
TEST(StrongRead, CollectsAnewWhereAReplicaRestartedBeforeTheWriteBack) {
  HandDriven::Options options;
  options.nodes = 4;
  options.edges = {3};
  HandDriven nodes(options);
  nodes.pass(1s);
  nodes.cut(2, 3);
  nodes.meddle(
      [](MemberIndex, MemberIndex, PeerMessage& message) { return drop_repairs(message); });
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3)), Code::ok);
  nodes.hold(1, 3);
  const auto read = nodes.read(3, "a", ReadLevel::strong);
  nodes.restart(0);
  nodes.release(1, 3);
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
  EXPECT_EQ(nodes.value(read)->value, 3);
}

// Or a rollback of the executor's disk could not be noticed by those it reached.
TEST(StrongRead, AWriteBackCarriesTheTestimonyOfWhoWroteIt) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut(0, 2);
  const MemoryDisk old_disk = nodes.disk(0);
  nodes.settings(0).gossip_interval = 1h;
  (void)nodes.add(0, "a", 3);
  ASSERT_EQ(nodes.total(1, "a", ReadLevel::strong), 3);
  ASSERT_EQ(nodes.held(2, "a"), 3);
  nodes.crash(0);
  nodes.disk(0) = old_disk;
  nodes.start(0);
  nodes.connect(0, 2);
  EXPECT_EQ(nodes.restarts(0), 1u);
}

TEST(StrongRead, OfACounterOfSeveralShardsSumsThem) {
  HandDriven nodes;
  EXPECT_EQ(nodes.code(nodes.raise(0, "a", 8)), Code::ok);
  for (ShardIndex shard = 0; shard < 8; ++shard) {
    EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum, .shard = shard})), Code::ok);
  }
  const auto value = nodes.value(nodes.read(2, "a", ReadLevel::strong));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->value, 8);
  EXPECT_EQ(value->shards, 8);
}

// As of any change made here, at the next interval and not by repair.
TEST(Raise, ReachesTheOwnersThatWereNotOfItsMajority) {
  for (const std::size_t count : {3U, 5U}) {
    HandDriven::Options options;
    options.nodes = count;
    HandDriven nodes(options);
    nodes.pass(1s);
    const std::string name = count == 3 ? "a" : nodes.key_not_of(0);
    const MemberIndex late =
        nodes.owners(name)[2] == 0 ? nodes.owners(name)[1] : nodes.owners(name)[2];
    nodes.meddle([late](MemberIndex, MemberIndex to, PeerMessage& message) {
      const bool written = to == late && std::holds_alternative<WriteBack>(message);
      return written ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
    });
    ASSERT_EQ(nodes.code(nodes.raise(0, name, 4)), Code::ok);
    nodes.pass(500ms);
    EXPECT_EQ(nodes.state(late, name).usable_shards, 4);
    EXPECT_EQ(nodes.stat(0, "counters"), nodes.owns(0, name) ? 1U : 0U)
        << "and nobody else keeps it";
  }
}

TEST(StrongRead, AfterAnInterruptedRaiseMissesNoShardThatMayBeUsed) {
  for (std::size_t frames = 0; frames < 8; ++frames) {
    HandDriven nodes;
    nodes.pass(1s);
    std::size_t left = frames;
    nodes.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
      if (!std::holds_alternative<WriteBack>(message) &&
          !std::holds_alternative<WrittenBack>(message)) {
        return HandDriven::Fate::deliver;
      }
      return left == 0 ? HandDriven::Fate::drop : (--left, HandDriven::Fate::deliver);
    });
    (void)nodes.raise(0, "a", 4);
    nodes.crash(0);
    nodes.be_fair();
    for (const MemberIndex node : {MemberIndex{1}, MemberIndex{2}}) {
      if (nodes.code(nodes.add(node, "a", 1, {.ack = Ack::quorum, .shard = 3})) != Code::ok)
        continue;
      EXPECT_GE(nodes.total(1, "a", ReadLevel::strong), 1) << frames << " frames";
      EXPECT_GE(nodes.total(2, "a", ReadLevel::strong), 1) << frames << " frames";
    }
    for (const MemberIndex node : {MemberIndex{1}, MemberIndex{2}}) {
      const ShardState state = nodes.state(node, "a");
      EXPECT_LE(state.usable_shards, state.shard_count);
    }
  }
}

TEST(StrongRead, AnAddToAShardThatWasNotRaisedIsRefused) {
  HandDriven nodes;
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 1})), Code::invalid_argument);
}

}  // namespace
}  // namespace quipu::test
