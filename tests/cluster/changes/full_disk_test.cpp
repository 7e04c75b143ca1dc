// Nodes whose disks are full: what they refuse, who takes its place, and how they say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

HandDriven::Options alone() {
  HandDriven::Options options;
  options.nodes = options.replication = 1;
  return options;
}

Op open_session_at(StoreId store) {
  Op op;
  op.kind = OpKind::open_session;
  op.token.store = store;
  return op;
}

// Without any time passing.
TEST(FullDisk, RefusesEveryChangeAtOnceAndServesReads) {
  HandDriven nodes(alone());
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3)), Code::ok);
  const Token token = nodes.session(0, 0);
  nodes.fill(0);
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = ack})), Code::storage_full);
    EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.ack = ack})), Code::storage_full);
    EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.ack = ack, .shard = 0})), Code::storage_full);
  }
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.affinity = Affinity{7}})), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.raise(0, "a", 4)), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.op(0, open_session_at(nodes.meta(0).store))), Code::storage_full);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::local), 3);

  nodes.make_room(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 4);
}

TEST(FullDisk, IsWhatTheNodesStateSays) {
  HandDriven nodes(alone());
  nodes.fill(0);
  EXPECT_THAT(nodes.core(0).state(), HasSubstr("disk is full"));
  EXPECT_TRUE(nodes.core(0).ready()) << "it serves reads";
  nodes.make_room(0);
  EXPECT_EQ(nodes.core(0).state(), "ready");
}

TEST(FullDisk, RefusesASessionThatWasWaitingForTheDisk) {
  HandDriven nodes(alone());
  nodes.stall(0);
  const auto session = nodes.op(0, open_session_at(nodes.meta(0).store));
  EXPECT_FALSE(nodes.done(session));
  nodes.fill(0);
  nodes.pass(nodes.settings(0).gossip_interval);
  EXPECT_EQ(nodes.code(session), Code::storage_full);
  nodes.make_room(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1)), Code::ok);
}

// What was applied before counts, so a retry learns it; what was not is refused.
TEST(FullDisk, AnswersRetriesOfWhatWasApplied) {
  HandDriven nodes(alone());
  const Token token = nodes.session(0, 0);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::ok);
  nodes.fill(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::ok);
  nodes.make_room(0);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 1);
}

// Node 0 does not own the counter. It may or may not have a session at the owner.
TEST(FullDisk, OfAnOwnerIsNoReasonToRefuseWhatAnotherOwnerCanDo) {
  for (const bool session : {false, true}) {
    HandDriven nodes(five());
    const std::string key = nodes.key_not_of(0);
    const std::vector<MemberIndex> owners = nodes.owners(key);
    const std::int64_t first = session ? 10 : 0;
    if (session) (void)nodes.add(0, key, first);
    nodes.fill(owners[0]);
    EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
    EXPECT_EQ(nodes.held(0, key), 0) << "an owner took it";
    nodes.fill(owners[1]), nodes.fill(owners[2]);
    EXPECT_EQ(nodes.code(nodes.add(0, key, 2)), Code::ok);
    EXPECT_EQ(nodes.held(0, key), 2) << "with no owner that has room, this node takes it itself";
    for (const MemberIndex owner : owners) nodes.make_room(owner);
    nodes.pass(2s);
    EXPECT_EQ(nodes.total(0, key, ReadLevel::strong), first + 3);
  }
}

TEST(FullDisk, OfAllOwnersIsWhatAnEdgeNodeSays) {
  HandDriven::Options options;
  options.nodes = 4;
  options.edges = {3};
  HandDriven nodes(options);
  for (MemberIndex owner = 0; owner < 3; ++owner) nodes.fill(owner);
  EXPECT_EQ(nodes.code(nodes.add(3, "a", 1)), Code::storage_full);
  for (MemberIndex owner = 0; owner < 3; ++owner) nodes.make_room(owner);
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(nodes.add(3, "a", 1)), Code::ok);
}

TEST(FullDisk, OfAMajorityOfTheOwnersRefusesQuorumsAtOnceAndNothingElse) {
  HandDriven nodes;
  nodes.fill(1), nodes.fill(2);
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.raise(0, "a", 4)), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 2)), Code::ok);
  nodes.make_room(1);
  nodes.pass(200ms);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 4, {.ack = Ack::quorum})), Code::ok);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 6);
}

// ---- a node that starts on one ----

void restart_on_full_disk(HandDriven& nodes, MemberIndex node) {
  nodes.crash(node);
  nodes.disk(node).fault = MemoryDisk::Fault::full;
  nodes.start(node);
}

TEST(StartOnAFullDisk, ServesLocalReadsAndChangesNothing) {
  HandDriven nodes(alone());
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3)), Code::ok);
  const Token token = nodes.session(0, 0);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::ok);
  restart_on_full_disk(nodes, 0);
  const auto before = nodes.disk(0).durable;
  EXPECT_FALSE(nodes.core(0).ready());
  EXPECT_THAT(nodes.core(0).state(), HasSubstr("waiting for room"));
  const auto local = nodes.value(nodes.read(0, "a", ReadLevel::local));
  ASSERT_TRUE(local);
  EXPECT_EQ(local->value, 4);
  EXPECT_TRUE(local->complete) << "there is no other node";
  // What an earlier start has not synced may be in it.
  EXPECT_EQ(nodes.value(nodes.read(0, "a", ReadLevel::strong))->code, Code::no_quorum);
  EXPECT_EQ(nodes.value(nodes.read(0, "a", ReadLevel::fresh))->code, Code::unavailable);
  EXPECT_EQ(nodes.keys(nodes.list(0, {}))->code, Code::ok);
  EXPECT_EQ(nodes.sized(nodes.size(0))->counters, 1u);

  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = ack})), Code::storage_full);
    EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.ack = ack})), Code::storage_full);
  }
  EXPECT_EQ(nodes.code(nodes.raise(0, "a", 4)), Code::storage_full);
  EXPECT_EQ(nodes.code(nodes.op(0, open_session_at(nodes.meta(0).store))), Code::storage_full);
  // It was applied, and this start does not know yet what else was.
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::in_doubt);
  nodes.pass(60s);
  EXPECT_TRUE(nodes.core(0).quiet());
  EXPECT_EQ(nodes.disk(0).durable, before);

  nodes.crash(0);
  nodes.disk(0).fault = MemoryDisk::Fault::none;
  nodes.start(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::ok);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 4);
}

// Its boot is not on the disk, so nobody may hear of it.
TEST(StartOnAFullDisk, TakesNoPartInTheCluster) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 3, {.ack = Ack::quorum})), Code::ok);
  nodes.pass(1s);
  nodes.cut_off(1);  // one more would be the majority
  restart_on_full_disk(nodes, 2);
  nodes.connect(2);
  nodes.pass(2s);
  EXPECT_FALSE(nodes.up(0, 2));
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::no_quorum);
  const auto local = nodes.value(nodes.read(2, "a", ReadLevel::local));
  ASSERT_TRUE(local);
  EXPECT_EQ(local->value, 3);
  EXPECT_FALSE(local->complete) << "it has heard nobody";
  const auto strong = nodes.read(2, "a", ReadLevel::strong, 1000);
  nodes.pass(2s);
  EXPECT_EQ(nodes.value(strong)->code, Code::no_quorum);

  nodes.disk(2).fault = MemoryDisk::Fault::none;
  nodes.restart(2);
  nodes.pass(2s);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

}  // namespace
}  // namespace quipu::test
