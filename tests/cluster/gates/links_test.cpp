// Links come and go; what was asked on one must not wait on another.
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

Hello hello_of(const HandDriven& nodes, MemberIndex node) {
  const Meta& meta = nodes.meta(node);
  return Hello{.cluster = meta.cluster,
               .node = meta.node,
               .store = meta.store,
               .boot = meta.lineage.back().boot,
               .marked = false,
               .welcome = true,
               .pins = meta.pins,
               .versions = {}};
}

TEST(Links, ComeUpAgainWhenNothingIsToBeWritten) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.cut(0, 1);
  EXPECT_FALSE(nodes.up(0, 1));
  nodes.connect(0, 1);
  EXPECT_TRUE(nodes.up(0, 1));
}

TEST(Links, OneThatBringsNothingIsClosed) {
  HandDriven nodes;
  nodes.hold(0, 1);
  nodes.pass(4s);
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_TRUE(nodes.up(0, 2));
}

TEST(Links, AnIdleOneStaysUpByItsBeats) {
  HandDriven nodes;
  nodes.pass(60s);
  EXPECT_TRUE(nodes.up(0, 1) && nodes.up(1, 2) && nodes.up(0, 2));
}

TEST(Links, AnotherNodeThanBeforeIsRefused) {
  HandDriven nodes;
  nodes.forge(1, 0, hello_of(nodes, 2));
  EXPECT_FALSE(nodes.up(0, 1));
  EXPECT_TRUE(nodes.up(0, 2));
  nodes.connect(0, 1);
  EXPECT_TRUE(nodes.up(0, 1));

  Hello reborn = hello_of(nodes, 1);
  reborn.boot = BootId{7};
  nodes.forge(1, 0, reborn);
  EXPECT_FALSE(nodes.up(0, 1));
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

TEST(Links, OfAStoreThatWasReplacedAreClosedByWhoeverHearsOfIt) {
  HandDriven nodes;
  nodes.pass(1s);
  Hello news = hello_of(nodes, 1);
  for (Pin& pin : news.pins.current) {
    if (pin.node != nodes.config().members[2].id) continue;
    pin.store = StoreId{7};
    ++pin.generation;
  }
  nodes.hold(0, 2), nodes.hold(1, 2);  // the store itself learns nothing yet
  nodes.forge(1, 0, news);
  EXPECT_NE(nodes.peer_state(0, 2), "up");
  EXPECT_TRUE(nodes.up(0, 1));
}

TEST(Links, StayWhileTheFoundingWaitsForAMember) {
  HandDriven::Options options;
  options.start = false;
  HandDriven nodes(options);
  nodes.start(0), nodes.start(1);
  nodes.connect(0, 1);
  nodes.pass(60s);
  nodes.start(2);
  nodes.connect(2, 0), nodes.connect(2, 1);  // and nobody dials anew between 0 and 1
  EXPECT_TRUE(nodes.up(0, 1));
  EXPECT_TRUE(nodes.core(0).ready() && nodes.core(1).ready() && nodes.core(2).ready());
}

TEST(Links, OneThatBringsNothingIsClosedWhileTheFoundingWaits) {
  HandDriven::Options options;
  options.start = false;
  HandDriven nodes(options);
  nodes.start(0), nodes.start(1);
  nodes.connect(0, 1);
  nodes.hold(1, 0);
  nodes.pass(4s);
  nodes.release(1, 0);
  nodes.start(2);
  nodes.connect(2, 0), nodes.connect(2, 1);
  EXPECT_FALSE(nodes.up(0, 1));
}

// The peer lost its side and dials again before we notice.
TEST(Links, ANewerOneTakesOverWhatTheOlderWasAsked) {
  for (const auto& [node, peer] : {std::pair<MemberIndex, MemberIndex>{0, 1}, {1, 0}}) {
    HandDriven nodes;
    (void)nodes.add(peer, "a", 3);
    nodes.pass(200ms);
    nodes.cut(node, 2);
    nodes.hold(peer, node);
    const auto read = nodes.read(node, "a", ReadLevel::strong);
    ASSERT_FALSE(nodes.value(read));
    nodes.lose_side(peer, node);
    nodes.release(peer, node);
    nodes.connect(node, peer);
    nodes.pass(200ms);
    ASSERT_TRUE(nodes.value(read)) << "asked of " << peer;
    EXPECT_EQ(nodes.value(read)->value, 3);
  }
}

// What the peer said over a link that it gave up soon comes once it has called again.
TEST(Links, AnOlderOneDoesNotTakeOver) {
  for (const auto& [node, peer] : {std::pair<MemberIndex, MemberIndex>{0, 1}, {1, 0}}) {
    HandDriven nodes;
    nodes.pass(200ms);
    nodes.cut_off(2), nodes.cut(0, 1);
    nodes.hold(peer, node);
    nodes.connect(node, peer);
    nodes.hold_link(peer, node);
    nodes.release(peer, node);
    nodes.lose_side(peer, node);
    nodes.connect(node, peer);
    ASSERT_TRUE(nodes.up(node, peer));
    nodes.release_links();
    const auto add = nodes.add(peer, "a", 1, {.ack = Ack::quorum});
    nodes.pass(200ms);
    EXPECT_EQ(nodes.code(add), Code::ok) << "of " << peer;
  }
}

TEST(Links, ANewerOneRepairsThoughTheOlderNeverClosed) {
  HandDriven nodes;
  nodes.cut_off(2);
  nodes.cut(0, 1);
  (void)nodes.add(0, "a", 3);
  nodes.crash(0), nodes.start(0);  // its outbox is lost: only repair can tell
  nodes.hold(0, 1);
  nodes.connect(0, 1);
  nodes.lose_side(0, 1);  // before it answered the pull
  nodes.release(0, 1);
  nodes.connect(0, 1);
  nodes.pass(2s);
  EXPECT_EQ(nodes.held(1, "a"), 3);
}

}  // namespace
}  // namespace quipu::test
