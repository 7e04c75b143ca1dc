// Which node a client talks to.
#include "cluster/client/links.h"

#include <gtest/gtest.h>

#include "tests/cluster/client/harness.h"

namespace quipu {
namespace {

using namespace std::chrono_literals;

TEST(ClientLinks, TakesTheFirstSeedThatAnswers) {
  ClientHarness t;
  EXPECT_TRUE(t.dialing("n1:1"));
  t.refuse("n1:1");
  t.connect("n2:1");
  EXPECT_TRUE(t.core.connected());
}

TEST(ClientLinks, GoesRoundAllSeedsAgainAfterAPause) {
  ClientHarness t;
  t.refuse("n1:1");
  t.refuse("n2:1");
  t.refuse("n3:1");
  EXPECT_FALSE(t.dialing("n1:1"));
  EXPECT_EQ(t.core.trouble(),
            "no node answers: n1:1: connection refused; n2:1: connection refused; "
            "n3:1: connection refused");
  t.pass(50ms);
  EXPECT_TRUE(t.dialing("n1:1"));
}

TEST(ClientLinks, ASeedThatDoesNotAnswerIsLeftForTheNext) {
  ClientHarness t;
  EXPECT_TRUE(t.dialing("n1:1"));
  t.pass(1100ms);
  EXPECT_FALSE(t.dialing("n1:1"));
  EXPECT_TRUE(t.dialing("n2:1"));
}

TEST(ClientLinks, LearnsTheOtherMembersFromOneSeed) {
  ClientHarness t({.seeds = 1});
  const ConnectionId n1 = t.connect("n1:1");
  t.drop(n1);
  EXPECT_TRUE(t.dialing("n2:1"));
}

TEST(ClientLinks, ReturnsToTheFirstSeedWhenItIsBackAndReady) {
  ClientHarness t;
  t.refuse("n1:1");
  const ConnectionId n2 = t.connect("n2:1");
  t.add(1, "likes");
  const SentOp add = t.take_change();
  t.pass(400ms);
  EXPECT_FALSE(t.dialing("n1:1"));
  t.pass(200ms);
  const ConnectionId n1 = t.connect("n1:1");
  EXPECT_TRUE(t.closed(n2));
  const SentOp again = t.take_op();
  EXPECT_EQ(again.connection, n1);
  EXPECT_EQ(again.op.token, add.op.token);
  t.pass(5s);
  EXPECT_FALSE(t.dialing("n2:1"));
}

TEST(ClientLinks, StaysWhileTheFirstSeedIsNotReady) {
  ClientHarness t;
  t.refuse("n1:1");
  const ConnectionId n2 = t.connect("n2:1");
  t.pass(500ms);
  const ConnectionId n1 = t.connect("n1:1", false);
  EXPECT_TRUE(t.closed(n1));
  EXPECT_FALSE(t.closed(n2));
  t.pass(500ms);
  EXPECT_TRUE(t.dialing("n1:1"));
}

TEST(ClientLinks, ANodeThatIsNotReadyIsKeptOnlyUntilAReadyOneAnswers) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1", false);
  EXPECT_TRUE(t.core.connected());
  t.pass(500ms);
  t.connect("n2:1");
  EXPECT_TRUE(t.closed(n1));
}

TEST(ClientLinks, ANodeThatIsNotReadyIsAskedAgainUntilItIs) {
  ClientHarness t({.members = 1});
  const ConnectionId n1 = t.connect("n1:1", false);
  const std::size_t before = t.config_asks;
  t.pass(1s);
  EXPECT_EQ(t.config_asks, before + 1);
  t.tell_config(n1, t.config_of("n1:1"));
  t.pass(10s);
  EXPECT_EQ(t.config_asks, before + 1);
}

TEST(ClientLinks, NeverTakesANodeOfAnotherCluster) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.drop(n1);
  t.pass(10ms);
  const auto stranger = t.dialing("n2:1");
  ASSERT_TRUE(stranger);
  ConfigReply config = t.config_of("n2:1");
  config.cluster = ClusterId{2};
  config.cluster_name = "other";
  t.tell_config(*stranger, config);
  EXPECT_FALSE(t.core.connected());
  EXPECT_EQ(t.core.trouble(),
            "no node answers: n1:1: connection reset; n2:1: a node of another cluster, \"other\", "
            "answers there; n3:1: no answer yet");
  EXPECT_TRUE(t.dialing("n3:1"));
}

// The node says so in a Refusal, which each release can read. (Linked with the next release: this
// client speaks 2 and 3.)
TEST(ClientLinks, AnAddressIsDialedAgainInAVersionThatItSpeaks) {
  ClientHarness t({.seeds = 1});
  const ConnectionId first = t.open("n1:1");
  t.tell_refusal(first,
                 {Code::protocol_error, "version 2?", {"1.2", {FrameVersion{3}, FrameVersion{4}}}});
  EXPECT_TRUE(t.closed(first));
  EXPECT_FALSE(t.core.exhausted());
  ASSERT_TRUE(t.dialing("n1:1"));
  const ConnectionId second = t.connect("n1:1");
  EXPECT_EQ(t.version_to(second), FrameVersion{3});
  EXPECT_TRUE(t.core.connected());
}

TEST(ClientLinks, SpeaksTheHighestCommonVersionAfterTheConfig) {
  ClientHarness t;
  const ConnectionId n1 = t.open("n1:1");
  EXPECT_EQ(t.version_to(n1), FrameVersion{2});
  t.tell_config(n1, t.config_of("n1:1"));
  t.read(1, "likes");
  EXPECT_EQ(t.version_to(n1), FrameVersion{3});
}

TEST(ClientLinks, ANodeWithoutACommonVersionIsNamed) {
  ClientHarness t({.seeds = 1});
  t.tell_refusal(t.open("n1:1"),
                 {Code::protocol_error, "", {"2.0", {FrameVersion{7}, FrameVersion{9}}}});
  EXPECT_FALSE(t.core.connected());
  EXPECT_EQ(
      t.core.trouble(),
      "no node answers at n1:1: the node is of release 2.0 and speaks frames of versions 7 to "
      "9, this is release next and speaks frames of versions 2 to 3: upgrade by one release at "
      "a time");
}

TEST(ClientLinks, IsExhaustedOnceEveryAddressHasFailedForGood) {
  ClientHarness t;
  t.refuse("n1:1");
  t.refuse("n2:1");
  EXPECT_FALSE(t.core.exhausted());
  t.refuse("n3:1");
  EXPECT_TRUE(t.core.exhausted());
  t.pass(50ms);
  t.connect("n1:1");
  EXPECT_FALSE(t.core.exhausted());
}

TEST(ClientLinks, IsNotExhaustedWhileANodeThatWasSilentMayStillAnswer) {
  ClientHarness t({.members = 2});
  t.refuse("n1:1");
  t.pass(1100ms);
  EXPECT_FALSE(t.core.exhausted());
  EXPECT_EQ(t.core.trouble(),
            "no node answers: n1:1: connection refused; n2:1: no connection within 1 s");
}

TEST(ClientLinks, TriesEveryOtherAddressAtOnceWhileTheNodeIsNotReady) {
  ClientHarness t;
  const ConnectionId n1 = t.open("n1:1");
  ConfigReply config = t.config_of("n1:1", false);
  config.placement_key = HashKey{};
  t.tell_config(n1, config);
  EXPECT_FALSE(t.core.exhausted());
  t.refuse("n2:1");
  t.refuse("n3:1");
  EXPECT_TRUE(t.core.exhausted());
  EXPECT_FALSE(t.dialing("n2:1")) << "a second round waits";
  t.pass(500ms);
  EXPECT_TRUE(t.dialing("n2:1"));
}

TEST(ClientLinks, AConfigThatContradictsItselfIsNotBelieved) {
  ClientHarness t;
  const auto n1 = t.dialing("n1:1");
  ConfigReply config = t.config_of("n1:1");
  config.owners.back() = 17;
  t.tell_config(*n1, config);
  EXPECT_FALSE(t.core.connected());
}

TEST(ClientLinks, ANodeThatOwesAnAnswerAndIsSilentIsPingedThenGivenUp) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.add(1, "likes", 1, 10s);
  const SentOp add = t.take_change();
  const std::size_t before = t.config_asks;
  t.pass(1100ms);
  EXPECT_EQ(t.config_asks, before + 1);
  EXPECT_FALSE(t.closed(n1));
  t.pass(2s);
  EXPECT_TRUE(t.closed(n1));
  t.connect("n2:1");
  EXPECT_EQ(t.take_op().op.token, add.op.token);
}

TEST(ClientLinks, ANodeThatIsSlowButAliveIsKept) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  t.read(1, "likes");
  for (int second = 0; second < 4; ++second) {
    t.pass(1100ms);
    t.tell_config(n1, t.config_of("n1:1"));
  }
  EXPECT_FALSE(t.closed(n1));
}

TEST(ClientLinks, AnIdleClientSendsNothing) {
  ClientHarness t;
  const ConnectionId n1 = t.connect("n1:1");
  const std::size_t before = t.config_asks;
  t.pass(1h);
  EXPECT_EQ(t.config_asks, before);
  EXPECT_FALSE(t.closed(n1));
}

}  // namespace
}  // namespace quipu
