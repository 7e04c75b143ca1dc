// How blank nodes become a cluster, and who is refused afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HandDriven::Options blank(std::size_t nodes = 3) {
  HandDriven::Options options;
  options.nodes = nodes;
  options.start = false;
  return options;
}

TEST(Founding, ThreeBlankNodesFoundTheSameCluster) {
  HandDriven nodes(blank());
  nodes.start_all();
  nodes.connect_all();

  for (const MemberIndex node : nodes.all()) {
    EXPECT_TRUE(nodes.core(node).ready()) << nodes.core(node).state();
    EXPECT_EQ(nodes.meta(node).pins.founding, nodes.meta(0).pins.founding);
    EXPECT_EQ(nodes.core(node).executor().map().placement_key(),
              nodes.core(0).executor().map().placement_key());
  }
  EXPECT_TRUE(nodes.up(0, 1) && nodes.up(1, 2) && nodes.up(0, 2));
}

TEST(Founding, ASingleNodeFoundsItselfAtOnce) {
  HandDriven nodes(blank(1));
  nodes.start(0);
  EXPECT_TRUE(nodes.core(0).ready());
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 1);
}

TEST(Founding, NobodyServesBeforeEveryMemberWasSeenOnce) {
  HandDriven nodes(blank());
  nodes.start(0);
  nodes.start(1);
  nodes.connect(0, 1);
  nodes.pass(10s);
  EXPECT_FALSE(nodes.core(0).ready());
  const auto refused = nodes.done(nodes.add(0, "a", 1));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::unavailable);
  const std::string third = nodes.core(0).config(1).members[2].name;
  EXPECT_EQ(refused->detail, "not founded yet: waiting for " + third);
  const ConfigReply config = nodes.core(0).config(1);
  EXPECT_EQ(config.placement_key, HashKey{});
  EXPECT_NE(config.members[1].store, StoreId{});
  EXPECT_EQ(config.members[2].store, StoreId{});

  nodes.start(2);
  nodes.connect_all();
  for (const MemberIndex node : nodes.all()) EXPECT_TRUE(nodes.core(node).ready());
  EXPECT_NE(nodes.core(0).config(1).placement_key, HashKey{});
}

TEST(Founding, MembersThatHaveNotMetEachOtherAreNamed) {
  HandDriven nodes(blank());
  nodes.start_all();
  nodes.connect(0, 1);
  nodes.connect(0, 2);
  EXPECT_THAT(nodes.core(0).state(), HasSubstr("to meet every other founding member"));
  const std::string third = nodes.core(0).config(1).members[2].name;
  EXPECT_EQ(nodes.core(1).state(), "not founded yet: waiting for " + third);
}

TEST(Founding, WhoeverWasThereOnceNeedNotBeThereAgain) {
  HandDriven nodes(blank());
  nodes.start_all();
  nodes.connect_all();
  for (const MemberIndex node : nodes.all()) nodes.crash(node);

  nodes.start(0);
  nodes.start(1);
  nodes.connect(0, 1);
  nodes.pass(1s);  // waits that long for the third one's testimony
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
  EXPECT_EQ(nodes.total(1, "a", ReadLevel::strong), 1);
}

TEST(Founding, AFoundingSurvivesTheCrashOfEachNodeAtEachWrite) {
  for (MemberIndex victim = 0; victim < 3; ++victim) {
    HandDriven nodes(blank());
    nodes.start_all();
    nodes.stall(victim);
    nodes.connect_all();
    nodes.restart(victim);  // forgets whom it had pinned
    nodes.connect_all();
    for (const MemberIndex node : nodes.all()) {
      EXPECT_TRUE(nodes.core(node).ready()) << "victim " << victim << ", node " << node;
      EXPECT_EQ(nodes.meta(node).pins.founding, nodes.meta(0).pins.founding);
    }
  }
}

TEST(Founding, ANodeThatIsWipedMeanwhileFoundsWithItsNewStore) {
  HandDriven nodes(blank());
  nodes.start_all();
  nodes.connect(0, 1);
  nodes.wipe(1);
  nodes.start(1);
  nodes.connect_all();
  for (const MemberIndex node : nodes.all()) {
    EXPECT_TRUE(nodes.core(node).ready()) << node;
    EXPECT_EQ(nodes.meta(node).pins.founding[1].store, nodes.meta(1).store);
  }
}

TEST(Founding, ANodeOfTheSameNameInAnotherClusterIsRefused) {
  HandDriven nodes(blank());
  nodes.start(0);
  nodes.start(1);
  nodes.meddle([](MemberIndex from, MemberIndex, PeerMessage& message) {
    if (auto* hello = std::get_if<Hello>(&message); hello && from == 1)
      hello->cluster = ClusterId{7};
    return HandDriven::Fate::deliver;
  });
  nodes.connect(0, 1);
  EXPECT_FALSE(nodes.up(0, 1));
  for (const char* named :
       {"another cluster", "name", "replication", "peer address", "zone", "weight"}) {
    EXPECT_THAT(nodes.peer_state(0, 1), HasSubstr(named));
  }
}

TEST(Founding, ANodeThatMeetsItsOwnNameIsTold) {
  HandDriven nodes(blank());
  nodes.start(0);
  nodes.start(1);
  const NodeId same = nodes.meta(0).node;
  std::string told;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    if (auto* hello = std::get_if<Hello>(&message); hello && from == 1) hello->node = same;
    if (auto* refusal = std::get_if<Refusal>(&message)) told = refusal->detail;
    return HandDriven::Fate::deliver;
  });
  nodes.connect(0, 1);
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_THAT(told, HasSubstr("two nodes run under one name"));
}

TEST(Founding, TwoFoundingsOfTheSameMembersNeverMerge) {
  HandDriven one(blank());
  HandDriven other(blank());
  for (HandDriven* nodes : {&one, &other}) {
    if (nodes == &other) nodes->start(0), nodes->wipe(0);  // so that its stores differ
    nodes->start_all();
    nodes->connect_all();
    ASSERT_TRUE(nodes->core(0).ready());
  }
  const MemoryDisk stranger = other.disk(2);
  one.crash(2);
  one.disk(2) = stranger;
  one.start(2);
  one.connect(2);
  EXPECT_FALSE(one.up(0, 2));
  EXPECT_THAT(one.peer_state(0, 2), HasSubstr("another cluster of the same name"));
}

}  // namespace
}  // namespace quipu::test
