// Resets of whole counters and of single shards.
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

TEST(Reset, AtQuorumRemovesEveryAddAcknowledgedAtQuorumBefore) {
  HandDriven nodes;
  nodes.cut(0, 2);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3, {.ack = Ack::quorum})), Code::ok);
  nodes.cut(0, 1);
  EXPECT_EQ(nodes.code(nodes.reset(2, "a", {.ack = Ack::quorum})),
            Code::ok);  // 2 learns of it from 1
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 0);
  nodes.connect_all();
  nodes.pass(12s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 0) << node;
}

// An executor that must first learn how many shards there are looks no less.
TEST(Reset, AtQuorumOfAShardByWhoeverOwnsNothingOfItObservesAMajority) {
  HandDriven nodes({.nodes = 4});
  const std::string key = nodes.key_not_of(0);
  const MemberIndex owner = nodes.owners(key).front();
  ASSERT_EQ(nodes.code(nodes.raise(owner, key, 2)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(owner, key, 3, {.ack = Ack::quorum, .shard = 1})), Code::ok);
  const Token token = nodes.session(0, 0);
  EXPECT_EQ(nodes.code(nodes.reset(0, key, {.ack = Ack::quorum, .shard = 1, .token = token})),
            Code::ok);
  EXPECT_EQ(nodes.total(owner, key, ReadLevel::strong), 0);
}

TEST(Reset, AtQuorumLeavesNoCopyWithWhoeverOwnsNothingThoughItIsRefused) {
  HandDriven nodes({.nodes = 4});
  const std::string first = nodes.key_not_of(0), second = nodes.key_not_of(0, 1);
  for (const std::string& key : {first, second})
    ASSERT_EQ(nodes.code(nodes.add(nodes.owners(key).front(), key, 3)), Code::ok);
  const Ask ask{.ack = Ack::quorum, .shard = 0, .token = nodes.session(0, 0)};
  EXPECT_EQ(nodes.code(nodes.reset(0, first, ask)), Code::ok);
  EXPECT_EQ(nodes.code(nodes.reset(0, second, ask)), Code::token_reused);
  nodes.pass(2s);
  EXPECT_EQ(nodes.core(0).executor().map().ledger().size(nodes.partition(first)), 0u);
  EXPECT_EQ(nodes.core(0).executor().map().ledger().size(nodes.partition(second)), 0u);
  EXPECT_EQ(nodes.total(nodes.owners(second).front(), second, ReadLevel::strong), 3);
}

TEST(Reset, AtDiskClearsWhatItsExecutorHeldAndNoMore) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.pass(1s);
  nodes.cut_off(1);
  (void)nodes.add(0, "a", 4);
  EXPECT_EQ(nodes.code(nodes.reset(1, "a")), Code::ok);
  nodes.connect_all();
  nodes.pass(2s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 4) << node;
}

TEST(Reset, OfACounterThatDoesNotExistIsFine) {
  HandDriven nodes;
  EXPECT_EQ(nodes.code(nodes.reset(0, "a")), Code::ok);
  EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.ack = Ack::quorum})), Code::ok);
}

TEST(Reset, OfManyShardsReachesThemAll) {
  for (const Ack ack : {Ack::disk, Ack::quorum}) {
    HandDriven nodes(five());
    ASSERT_EQ(nodes.code(nodes.raise(0, "a", 32)), Code::ok);
    for (ShardIndex shard = 0; shard < 32; ++shard) {
      ASSERT_EQ(nodes.code(nodes.add(1, "a", 1, {.ack = Ack::quorum, .shard = shard})), Code::ok);
    }
    nodes.pass(1s);
    ASSERT_EQ(nodes.total(2, "a", ReadLevel::strong), 32);
    EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.ack = ack})), Code::ok);
    nodes.pass(1s);
    EXPECT_EQ(nodes.total(2, "a", ReadLevel::strong), 0);
  }
}

// Whoever is asked may not have heard of the raise.
TEST(Reset, AtQuorumAsksAMajorityHowManyShardsThereAre) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut(0, 1);
  nodes.hold(2, 0);  // not even by the way
  ASSERT_EQ(nodes.code(nodes.raise(1, "a", 2)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(1, "a", 3, {.ack = Ack::quorum, .shard = 1})), Code::ok);
  const auto reset = nodes.reset(0, "a", {.ack = Ack::quorum});
  nodes.release(2, 0);
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(reset), Code::ok);
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 0);
}

TEST(Reset, AtQuorumIsRefusedUnappliedWithoutAMajority) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 3);
  nodes.cut_off(0);
  const auto reset = nodes.reset(0, "a", {.ack = Ack::quorum, .timeout_ms = 500});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(reset), Code::no_quorum);
  EXPECT_EQ(nodes.held(0, "a"), 3);
}

TEST(Reset, OfWhichOnlySomeShardsAnsweredIsInDoubt) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.raise(0, "a", 2)), Code::ok);
  for (const ShardIndex shard : {ShardIndex{0}, ShardIndex{1}}) {
    (void)nodes.add(0, "a", 1, {.ack = Ack::quorum, .shard = shard});
  }
  const Partition silent = nodes.partition("a", 1);
  nodes.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* ack = std::get_if<DeltaAck>(&message)) ack->unfilled = {silent};
    return HandDriven::Fate::deliver;
  });
  const auto reset = nodes.reset(0, "a", {.ack = Ack::quorum, .timeout_ms = 500});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(reset), Code::in_doubt);
}

TEST(Reset, OfWhichAShardIsInDoubtIsNotCalledUnappliedForAnotherOnesSake) {
  HandDriven nodes({.nodes = 4});
  std::string key = "a";
  while (nodes.owns(0, key, 0) || !nodes.owns(0, key, 1)) key += 'a';
  ASSERT_EQ(nodes.code(nodes.raise(0, key, 2)), Code::ok);
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1, {.shard = 0})), Code::ok);  // with a session
  nodes.meddle([](MemberIndex, MemberIndex to, PeerMessage& message) {
    bool drop = to == 0 && std::holds_alternative<Forwarded>(message);
    if (auto* collected = std::get_if<Collected>(&message)) {
      collected->states.for_each(
          [&](const DeltaEntry& entry) { drop |= to == 0 && entry.ref.shard == 1; });
    }
    return drop ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  // The first shard's executor does it and cannot say so; the second has no majority.
  const auto reset = nodes.reset(0, key, {.ack = Ack::quorum, .timeout_ms = 500});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(reset), Code::in_doubt);
}

TEST(Reset, RepeatedWithItsTokenDoesNotClearWhatCameAfter) {
  HandDriven nodes;
  for (const Ack ack : {Ack::disk, Ack::quorum}) {
    const std::string key = ack == Ack::disk ? "d" : "q";
    const Token token = nodes.session(0, 0);
    (void)nodes.add(0, key, 3);
    EXPECT_EQ(nodes.code(nodes.reset(0, key, {.ack = ack, .shard = 0, .token = token})), Code::ok);
    (void)nodes.add(0, key, 4);
    nodes.pass(1s);
    EXPECT_EQ(nodes.code(nodes.reset(0, key, {.ack = ack, .shard = 0, .token = token})), Code::ok);
    EXPECT_EQ(nodes.held(0, key), 4);
  }
}

TEST(Reset, RepeatedWithItsTokenWithoutAMajorityIsNotCalledUnapplied) {
  HandDriven nodes;
  const Token token = nodes.session(0, 0);
  (void)nodes.add(0, "a", 3);
  ASSERT_EQ(nodes.code(nodes.reset(0, "a", {.ack = Ack::quorum, .shard = 0, .token = token})),
            Code::ok);
  nodes.cut_off(0);
  const auto again =
      nodes.reset(0, "a", {.ack = Ack::quorum, .shard = 0, .token = token, .timeout_ms = 500});
  nodes.pass(1s);
  ASSERT_TRUE(nodes.code(again));
  EXPECT_NE(describe(*nodes.code(again)).outcome, Outcome::not_applied);
}

// What it observed came from another store's disk: who takes it over must be able
// to contradict that disk if it is rolled back.
TEST(Reset, CarriesTheTestimonyOfWhatItObserved) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut(0, 2);
  const MemoryDisk old_disk = nodes.disk(0);
  (void)nodes.add(0, "a", 3);
  ASSERT_EQ(nodes.code(nodes.reset(1, "a", {.ack = Ack::quorum})), Code::ok);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.disk(0) = old_disk;
  nodes.start(0);
  nodes.connect(0, 2);
  EXPECT_EQ(nodes.restarts(0), 1u);
}

}  // namespace
}  // namespace quipu::test
