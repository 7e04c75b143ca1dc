// Members of several releases: a link speaks the highest version that both sides speak. (These
// tests are linked with the next release's frames: versions 2 and 3.)
#include "protocol/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/message_codec.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr FrameVersion kOld{2}, kNew{3}, kNewer{4};

// Three nodes, of these releases.
HandDriven three(const std::vector<Speaker>& speakers) {
  HandDriven nodes({.start = false});
  for (MemberIndex node = 0; node < speakers.size(); ++node)
    nodes.settings(node).speaker = speakers[node];
  nodes.start_all();
  nodes.connect_all();
  return nodes;
}

TEST(CommonVersion, IsTheHighestThatBothSpeak) {
  EXPECT_EQ(common_version({kOld, kNew}, {kOld, kOld}), kOld);
  EXPECT_EQ(common_version({kOld, kNew}, {kNew, kNewer}), kNew);
  EXPECT_EQ(common_version({kOld, kNew}, {kOld, kNewer}), kNew);
  EXPECT_EQ(common_version({kOld, kOld}, {kNew, kNewer}), std::nullopt);
  EXPECT_EQ(common_version({kNewer, kNewer}, {kOld, kNew}), std::nullopt);
}

TEST(Releases, EachPairSpeaksItsHighestCommonVersion) {
  HandDriven nodes = three({{"1.0", {kOld, kOld}}, {"1.1", {kOld, kNew}}, {"1.1", {kOld, kNew}}});
  std::map<std::pair<MemberIndex, MemberIndex>, std::set<FrameVersion>> seen;
  nodes.watch([&](MemberIndex from, MemberIndex to, const Frame& frame) {
    if (!is_greeting(frame.type)) seen[std::minmax(from, to)].insert(frame.version);
  });
  (void)nodes.add(0, "a", 3, {.ack = Ack::quorum});
  nodes.pass(1s);
  EXPECT_EQ(seen[std::pair(0, 1)], std::set{kOld});
  EXPECT_EQ(seen[std::pair(0, 2)], std::set{kOld});
  EXPECT_EQ(seen[std::pair(1, 2)], std::set{kNew});
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 3);
}

TEST(Releases, ThatHaveNoVersionInCommonAreRefusedAndNamed) {
  HandDriven nodes = three({{"1.0", {kOld, kOld}}, {"1.0", {kOld, kOld}}, {"1.0", {kOld, kOld}}});
  nodes.settings(2).speaker = {"1.2", {kNew, kNewer}};
  nodes.restart(2);
  EXPECT_TRUE(nodes.up(0, 1));
  EXPECT_FALSE(nodes.up(0, 2));
  for (const auto& [node, peer] : {std::pair(0, 2), std::pair(2, 0)})
    EXPECT_THAT(nodes.peer_state(static_cast<MemberIndex>(node), static_cast<MemberIndex>(peer)),
                AllOf(HasSubstr("release 1.0 and speaks frames of version 2"),
                      HasSubstr("release 1.2 and speaks frames of versions 3 to 4"),
                      HasSubstr("upgrade by one release at a time")));
}

TEST(Releases, AMemberThatIsRestartedIntoTheNextOneMovesItsLinksUp) {
  HandDriven nodes = three({{"1.0", {kOld, kOld}}, {"1.0", {kOld, kOld}}, {"1.0", {kOld, kOld}}});
  (void)nodes.add(0, "a", 1, {.ack = Ack::quorum});
  for (const MemberIndex node : nodes.all()) {
    nodes.settings(node).speaker = {"1.1", {kOld, kNew}};
    nodes.restart(node);
    nodes.pass(2s);
    ASSERT_EQ(nodes.code(nodes.add(node, "a", 1, {.ack = Ack::quorum})), Code::ok);
  }
  std::set<FrameVersion> seen;
  nodes.watch([&](MemberIndex, MemberIndex, const Frame& frame) {
    if (!is_greeting(frame.type)) seen.insert(frame.version);
  });
  nodes.pass(1s);
  EXPECT_EQ(seen, std::set{kNew});
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 4);
}

TEST(Releases, AFrameOfAnotherVersionThanWasAgreedOnEndsTheLink) {
  HandDriven nodes;
  nodes.forge(1, 0, Heartbeat{.number = 1000}, kOld);  // the link speaks 3
  EXPECT_FALSE(nodes.up(0, 1));
}

}  // namespace
}  // namespace quipu::test
