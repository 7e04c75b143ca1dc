// Which stores count after the founding: the pinned ones and their marked
// replacements, each once it is filled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using ::testing::HasSubstr;

TEST(ReplacedStore, AWipedNodeIsRefusedAndToldToRebuild) {
  HandDriven nodes;
  nodes.wipe(1);
  nodes.start(1);
  nodes.connect(1);
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_THAT(nodes.peer_state(0, 1), HasSubstr("--rebuild"));
  EXPECT_THAT(nodes.peer_state(1, 0), HasSubstr("--rebuild"));
  EXPECT_THAT(nodes.core(1).state(), HasSubstr("--rebuild")) << "where an operator looks first";
  EXPECT_FALSE(nodes.core(1).ready());
}

TEST(ReplacedStore, AMarkedStoreIsPinnedAndTheOldOneRefused) {
  HandDriven nodes;
  const StoreId old_store = nodes.meta(1).store;
  const MemoryDisk old_disk = nodes.disk(1);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  ASSERT_TRUE(nodes.up(0, 1)) << nodes.peer_state(0, 1);
  EXPECT_NE(nodes.meta(1).store, old_store);
  EXPECT_EQ(nodes.core(0).config(0).members[1].store, nodes.meta(1).store);
  EXPECT_EQ(nodes.core(1).config(0).members[1].store, nodes.meta(1).store);

  nodes.crash(1);
  nodes.disk(1) = old_disk;
  nodes.start(1);
  nodes.connect(1);
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_FALSE(nodes.up(1, 2));
}

// It heard of two replacements of that member, one on each side of a partition of the network.
TEST(ReplacedStore, WhatWaitsForAStoreEndsOnceAPeerSaysThatItIsRetired) {
  HandDriven nodes;
  const Token token = nodes.session(0, 1);
  nodes.stall(1);
  const std::uint64_t waits = nodes.add(0, "a", 1, {.shard = 0, .token = token});
  ASSERT_EQ(nodes.code(waits), std::nullopt);
  const Meta& peer = nodes.meta(2);
  Hello hello;
  hello.cluster = peer.cluster;
  hello.node = peer.node;
  hello.store = peer.store;
  hello.boot = peer.lineage.back().boot;
  hello.welcome = true;
  hello.pins = peer.pins;
  hello.pins.retired = {nodes.meta(1).store};
  nodes.forge(2, 0, hello);
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_EQ(nodes.code(waits), Code::in_doubt);
}

// A disk in another machine under the old one's name, say, while the old one was cut off.
TEST(ReplacedStore, TheOldStoreStopsExecutingOnceItLearnsOfIt) {
  HandDriven nodes;
  const Token own = nodes.session(1, 1);
  (void)nodes.add(1, "a", 1);
  nodes.pass(1s);
  const MemoryDisk old_disk = nodes.disk(1);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  nodes.crash(1);
  nodes.disk(1) = old_disk;
  nodes.start(1);
  nodes.pass(2s);
  ASSERT_EQ(nodes.code(nodes.add(1, "a", 1)), Code::ok);  // it cannot know yet

  nodes.connect(1);
  for (int start = 0; start < 2; ++start) {
    EXPECT_FALSE(nodes.core(1).ready());
    EXPECT_THAT(nodes.core(1).state(), HasSubstr("another store was pinned"));
    for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
      EXPECT_EQ(nodes.code(nodes.add(1, "a", 1, {.ack = ack})), Code::unavailable);
    }
    EXPECT_EQ(nodes.code(nodes.add(1, "a", 1, {.shard = 0, .token = own})), Code::executor_gone);
    EXPECT_EQ(nodes.value(nodes.read(1, "a", ReadLevel::local))->code, Code::unavailable);
    nodes.crash(1), nodes.start(1);  // and it remembers
    nodes.pass(2s);
  }
}

// An add that was to be forwarded finds no owner any more, and may not stay here either.
TEST(ReplacedStore, TheOldStoreDoesNotExecuteWhatWasOnItsWayElsewhere) {
  HandDriven nodes({.replication = 1});
  const std::string key = nodes.key_of(0);
  nodes.pass(1s);
  const MemoryDisk old_disk = nodes.disk(1);
  nodes.cut_off(0);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1, 2);
  nodes.pass(2s);
  nodes.crash(1);
  nodes.disk(1) = old_disk;
  nodes.start(1);
  nodes.connect(0, 1);
  nodes.pass(2s);
  ASSERT_TRUE(nodes.up(0, 1)) << nodes.peer_state(1, 0);

  nodes.hold(1, 0);
  const std::uint64_t add = nodes.add(1, key, 1);
  ASSERT_FALSE(nodes.code(add));
  nodes.connect(1, 2);
  EXPECT_FALSE(nodes.core(1).ready());
  EXPECT_EQ(nodes.code(add), Code::unavailable);
}

TEST(ReplacedStore, TheOldStoreDoesNotComeBackByARollback) {
  HandDriven nodes;
  const MemoryDisk old_disk = nodes.disk(1);
  (void)nodes.add(1, "a", 1);
  nodes.pass(1s);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  const StoreId pinned = nodes.meta(1).store;
  nodes.crash(1);
  nodes.disk(1) = old_disk;
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  EXPECT_FALSE(nodes.core(1).ready());
  EXPECT_EQ(nodes.core(0).config(0).members[1].store, pinned);
}

TEST(ReplacedStore, HoldsEverythingOnceItHasPulledFromItsPeers) {
  HandDriven nodes;
  for (int i = 0; i < 50; ++i) (void)nodes.add(0, "k" + std::to_string(i), 1);
  nodes.pass(200ms);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(nodes.held(1, "k" + std::to_string(i)), 1);
  EXPECT_EQ(nodes.meta(1).filled_from.size(), 2u);
}

// Its empty copy must not be part of a majority: the third owner could be the
// only one that is left of those who acknowledged.
TEST(ReplacedStore, DoesNotCountBeforeItHasPulledFromAMajority) {
  HandDriven nodes;
  nodes.cut_off(2);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 5, {.ack = Ack::quorum})), Code::ok);  // on 0 and 1
  nodes.wipe(1, NewStore::marked);
  nodes.cut_off(0);
  nodes.start(1);
  nodes.connect(1, 2);
  nodes.pass(1500ms);
  ASSERT_TRUE(nodes.up(1, 2)) << nodes.peer_state(1, 2);

  const auto read = nodes.read(2, "a", ReadLevel::strong, 500);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::no_quorum);
  const auto add = nodes.add(2, "a", 1, {.ack = Ack::quorum, .timeout_ms = 500});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(add), Code::in_doubt);

  nodes.connect_all();
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(2, "a", ReadLevel::strong), 6);
  EXPECT_EQ(nodes.code(nodes.add(2, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

// Two of five disks are a minority: what a quorum had must survive their loss, though
// it is left on one node alone, and the new stores meet everybody else first.
TEST(ReplacedStore, IsNotFilledFromAnotherThatIsNotFilledItself) {
  HandDriven::Options options;
  options.nodes = 5;
  options.replication = 5;
  HandDriven nodes(options);
  nodes.cut_off(3), nodes.cut_off(4);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 5, {.ack = Ack::quorum})), Code::ok);  // on 0, 1 and 2
  nodes.pass(1s);
  nodes.crash(2);
  nodes.wipe(0, NewStore::marked), nodes.wipe(1, NewStore::marked);
  nodes.start(0), nodes.start(1);
  nodes.connect_all();
  nodes.pass(5s);
  const auto read = nodes.read(3, "a", ReadLevel::strong, 1000);
  nodes.pass(2s);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->code, Code::no_quorum);

  nodes.start(2);
  nodes.connect_all();
  nodes.pass(5s);
  EXPECT_EQ(nodes.total(3, "a", ReadLevel::strong), 5);
  EXPECT_EQ(nodes.held(0, "a") + nodes.held(1, "a"), 10);
}

// No promise holds then, but what is left must serve again.
TEST(ReplacedStore, OfAMajorityAreFilledFromWhoeverIsLeft) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.add(2, "a", 5, {.ack = Ack::quorum})), Code::ok);
  nodes.pass(1s);
  nodes.wipe(0, NewStore::marked), nodes.wipe(1, NewStore::marked);
  nodes.start(0), nodes.start(1);
  nodes.connect_all();
  nodes.pass(5s);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 5);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

TEST(ReplacedStore, AMemberThatWasAwayLearnsOfItFromTheOthers) {
  HandDriven nodes;
  nodes.cut_off(2);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(0, 1);
  nodes.connect(0, 2);  // 2 and the new store of 1 have not met
  nodes.pass(1s);
  EXPECT_EQ(nodes.core(2).config(0).members[1].store, nodes.meta(1).store);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

// Each of the others was away at one of two replacements, so they count them differently.
TEST(ReplacedStore, IsNotRetiredByAPeerThatSawMoreReplacements) {
  HandDriven nodes;
  nodes.crash(2);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.start(2);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  nodes.start(0);
  nodes.connect(0);
  nodes.pass(1s);
  EXPECT_TRUE(nodes.up(1, 0)) << nodes.peer_state(1, 0);
  EXPECT_TRUE(nodes.up(1, 2)) << nodes.peer_state(1, 2);
  EXPECT_EQ(nodes.code(nodes.add(1, "a", 1)), Code::ok);
}

TEST(ReplacedStore, StaysFilledAcrossARestart) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  nodes.restart(1);
  nodes.cut_off(2);
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 1);
}

TEST(ReplacedStore, OfOneOfTwoOwnersCountsAgain) {
  HandDriven::Options options;
  options.nodes = 2;
  HandDriven nodes(options);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 5, {.ack = Ack::quorum})), Code::ok);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.connect(1);
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 6);
}

TEST(ReplacedStore, OfASingleNodeServesAgain) {
  HandDriven::Options options;
  options.nodes = 1;
  HandDriven nodes(options);
  nodes.wipe(0, NewStore::marked);
  nodes.start(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 1);
}

}  // namespace
}  // namespace quipu::test
