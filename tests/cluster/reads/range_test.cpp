// What a counter counted in time, through any node, and what each answer promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

class Ranges : public ::testing::Test {
 protected:
  explicit Ranges(HandDriven::Options options = five()) : nodes_(std::move(options)) {
    define("k", {.tiers = {{1s, 1h}, {60s, {}}}});
  }

  void define(std::string_view name, NamespacePolicy policy) {
    nodes_.namespaces(0, {.action = NamespaceAction::create, .name = name, .policy = policy});
    nodes_.pass(1s);
  }
  // A counter of the namespace, of which that node is an owner, or is none.
  std::string counter(MemberIndex node, bool owned = true) {
    for (int i = 0;; ++i) {
      std::string key = "k:" + std::to_string(i);
      const Partition home = nodes_.core(node).executor().map().place({key, 0}).partition();
      if (nodes_.core(node).view().owned(home) == owned) return key;
    }
  }
  RangeReply last(MemberIndex node, std::string_view key, ReadLevel level = ReadLevel::local,
                  std::chrono::seconds span = 600s, std::chrono::seconds step = 1s) {
    const auto id = nodes_.range(node, {.key = key, .level = level, .last = span, .step = step});
    return nodes_.ranged(id).value_or(RangeReply{.code = Code::in_doubt});
  }
  static std::int64_t sum(const RangeReply& reply) {
    return std::accumulate(reply.counts.begin(), reply.counts.end(), std::int64_t{0});
  }

  HandDriven nodes_;
};

TEST_F(Ranges, TellWhenAddsHappened) {
  const std::string key = counter(0);
  nodes_.add(0, key, 5);
  nodes_.pass(3s);
  nodes_.add(0, key, 7);
  const RangeReply reply = last(0, key, ReadLevel::local, 10s);
  ASSERT_EQ(reply.code, Code::ok) << reply.detail;
  ASSERT_EQ(reply.counts.size(), 10u);
  EXPECT_EQ(reply.counts[9], 7);
  EXPECT_EQ(reply.counts[6], 5);
  EXPECT_EQ(sum(reply), 12);
  EXPECT_EQ(sum(last(0, key, ReadLevel::local, 120s, 60s)), 12) << "from the longer windows";
}

TEST_F(Ranges, AreTheSameAtEachLevelThroughEachNode) {
  const std::string key = counter(0);
  nodes_.add(0, key, 5);
  nodes_.add(1, key, 6);
  nodes_.add(2, key, 7);
  nodes_.pass(1s);
  for (const MemberIndex node : nodes_.all()) {
    for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
      const RangeReply reply = last(node, key, level);
      EXPECT_EQ(reply.code, Code::ok) << reply.detail;
      EXPECT_EQ(sum(reply), 18) << node;
      EXPECT_TRUE(reply.complete);
    }
  }
}

TEST_F(Ranges, OfACounterThatNobodyHoldsAreZero) {
  const RangeReply reply = last(0, counter(0, false), ReadLevel::local, 5s);
  EXPECT_EQ(reply.code, Code::ok);
  EXPECT_EQ(reply.counts, std::vector<std::int64_t>(5, 0));
}

TEST_F(Ranges, OfASpreadCounterHaveAllOfItsShards) {
  const std::string key = counter(0);
  nodes_.raise(0, key, 4);
  for (ShardIndex shard = 0; shard < 4; ++shard) nodes_.add(0, key, 10, {.shard = shard});
  nodes_.pass(1s);
  for (const MemberIndex node : nodes_.all()) {
    EXPECT_EQ(sum(last(node, key)), 40) << node;
    EXPECT_EQ(sum(last(node, key, ReadLevel::strong)), 40) << node;
  }
}

TEST_F(Ranges, OfTooManyWindowsAreRefused) {
  const std::string key = counter(0);
  nodes_.raise(0, key, 20);
  const RangeReply reply = last(0, key, ReadLevel::fresh, 600s);
  EXPECT_EQ(reply.code, Code::invalid_argument);
  EXPECT_THAT(reply.detail, HasSubstr("more than 10,000 windows"));
}

TEST_F(Ranges, AtStrongTakeOneRoundTripWhenNothingChanges) {
  const std::string key = counter(0);
  nodes_.add(0, key, 5);
  nodes_.pass(1s);
  (void)nodes_.take_traffic();
  EXPECT_EQ(sum(last(0, key, ReadLevel::strong, 60s)), 5);
  auto traffic = nodes_.take_traffic();
  EXPECT_EQ(traffic[FrameType::collect], traffic[FrameType::collected]);
  EXPECT_LE(traffic[FrameType::collect], 4u) << "61 shards, from each of the other two owners";
  EXPECT_FALSE(traffic.contains(FrameType::write_back));
}

TEST_F(Ranges, AtStrongHaveAllThatWasAckedAtQuorum) {
  const std::string key = counter(0);
  nodes_.hold(0, 1);
  const auto id = nodes_.add(0, key, 5, {.ack = Ack::quorum});
  nodes_.run();
  ASSERT_EQ(nodes_.code(id), Code::ok);
  for (const MemberIndex node : nodes_.all())
    EXPECT_EQ(sum(last(node, key, ReadLevel::strong)), 5) << node;
}

// The counter itself may be with a majority before its windows are.
TEST_F(Ranges, AnAddAtQuorumIsAckedOnceAMajorityHasItsWindows) {
  const std::string key = counter(0);
  std::size_t kept_back = 0;
  nodes_.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
    auto* const frame = std::get_if<DeltaFrame>(&message);
    if (frame == nullptr) return HandDriven::Fate::deliver;
    bool has_window = false;
    frame->delta.for_each(
        [&](const DeltaEntry& entry) { has_window = has_window || is_window(entry.ref.shard); });
    kept_back += has_window ? 1 : 0;
    return has_window ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const auto id = nodes_.add(0, key, 5, {.ack = Ack::quorum, .timeout_ms = 500});
  EXPECT_EQ(nodes_.code(id), std::nullopt);
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.code(id), Code::in_doubt);
  EXPECT_GT(kept_back, 0u);
}

// In which windows its first copy counted, nobody knows. So a majority must have all of that time.
TEST_F(Ranges, ARetryAtQuorumIsAckedOnceAMajorityHasTheWindowsOfItsFirstCopy) {
  const std::string key = counter(0);
  const Token token = nodes_.session(0, 0);
  const auto windows_are_lost = [](MemberIndex, MemberIndex, PeerMessage& message) {
    bool has_window = false;
    if (auto* const frame = std::get_if<DeltaFrame>(&message)) {
      frame->delta.for_each(
          [&](const DeltaEntry& entry) { has_window = has_window || is_window(entry.ref.shard); });
    }
    return has_window ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  };
  nodes_.meddle(windows_are_lost);
  nodes_.add(0, key, 5, {.ack = Ack::quorum, .shard = 0, .token = token, .timeout_ms = 500});
  nodes_.pass(1s);
  const auto again =
      nodes_.add(0, key, 5, {.ack = Ack::quorum, .shard = 0, .token = token, .timeout_ms = 500});
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.code(again), Code::in_doubt) << "these windows are new, and nobody has them";
  nodes_.be_fair();
  nodes_.cut_off(0);
  nodes_.connect(0);
  const auto third =
      nodes_.add(0, key, 5, {.ack = Ack::quorum, .shard = 0, .token = token, .timeout_ms = 30'000});
  for (int i = 0; i < 100 && !nodes_.code(third); ++i) nodes_.pass(100ms);
  EXPECT_EQ(nodes_.code(third), Code::ok);
  EXPECT_EQ(sum(last(1, key, ReadLevel::strong)), 5);
}

// ---- settled, complete ----

TEST_F(Ranges, AreSettledAShortTimeAgo) {
  const std::string key = counter(0);
  nodes_.pass(1s);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const RangeReply reply = last(0, key, level);
    const Wall now = nodes_.core(0).clock().at(nodes_.now());
    EXPECT_GE(reply.settled_until, now - 5s);
    EXPECT_LE(reply.settled_until, now - 3s) << "clocks may differ";
  }
}

TEST_F(Ranges, AreSettledNoLaterThanASilentMemberWasHeard) {
  const std::string key = counter(0);
  nodes_.pass(1s);
  const Wall then = nodes_.core(0).clock().at(nodes_.now());
  nodes_.cut_off(4);
  nodes_.pass(60s);
  const RangeReply reply = last(0, key);
  EXPECT_FALSE(reply.complete);
  EXPECT_LE(reply.settled_until, then);
  EXPECT_GE(reply.settled_until, then - 6s);
}

TEST_F(Ranges, AreNotSettledWhereTheDiskOfThisNodeIsBehind) {
  const std::string key = counter(0);
  nodes_.pass(1s);
  nodes_.stall(0);
  const Wall then = nodes_.core(0).clock().at(nodes_.now());
  nodes_.add(0, key, 5, {.ack = Ack::memory});
  for (int i = 0; i < 20; ++i) nodes_.pass(500ms);
  const RangeReply reply = last(0, key);
  EXPECT_EQ(sum(reply), 5) << "it shows what a crash may still lose";
  EXPECT_LE(reply.settled_until, then);
  nodes_.resume(0);
  nodes_.pass(1s);
  EXPECT_GT(last(0, key).settled_until, then);
}

TEST_F(Ranges, AreSettledBeforeWhatMayStillBeLate) {
  define("late", {.tiers = {{1s, 1h}}, .late = 60s});
  nodes_.pass(1s);
  const RangeReply reply = last(0, "late:a");
  EXPECT_LE(reply.settled_until, nodes_.core(0).clock().at(nodes_.now()) - 63s);
}

TEST_F(Ranges, AreNotCompleteWhereWindowsAreGone) {
  EXPECT_TRUE(last(0, counter(0), ReadLevel::strong, 60s).complete);
  EXPECT_FALSE(last(0, counter(0), ReadLevel::strong, 4000s).complete);
}

// ---- adds ----

TEST_F(Ranges, ADatedAddIsRefusedWithTheReason) {
  const auto refused = [&](std::string_view key, Wall at) {
    Op op{.key = key, .amount = 1};
    op.at_ms = at.time_since_epoch().count();
    return nodes_.done(nodes_.op(0, op)).value_or(Done{});
  };
  const Wall now = nodes_.core(0).clock().at(nodes_.now());
  const std::string key = counter(0);
  EXPECT_EQ(refused(key, now).code, Code::ok);
  EXPECT_EQ(refused(key, now - 2s).detail,
            "its namespace does not say how long ago an add may have happened: set its `late`");
  EXPECT_EQ(refused(nodes_.key_of(0), now).detail,
            "an add says when it happened only in a namespace with tiers");
  EXPECT_EQ(refused(key, Wall{} - 1s).detail, "an add happened between 1970 and the year 2109");
}

TEST_F(Ranges, ANodeThatOwnsNothingForwardsTheMoment) {
  define("late", {.tiers = {{1s, 1h}}, .late = 60s});
  const Wall now = nodes_.core(0).clock().at(nodes_.now());
  for (const MemberIndex node : nodes_.all()) {
    Op op{.key = "late:a", .amount = 1};
    op.at_ms = (now - 30s).time_since_epoch().count();
    EXPECT_EQ(nodes_.code(nodes_.op(node, op)), Code::ok);
  }
  nodes_.pass(1s);
  const auto id = nodes_.range(0, {.key = "late:a",
                                   .level = ReadLevel::strong,
                                   .from = now - 30s,
                                   .to = now - 29s,
                                   .step = 1s});
  EXPECT_EQ(nodes_.ranged(id).value().counts.at(0), 5);
}

TEST_F(Ranges, AQuestionThatHasNoAnswerSaysWhy) {
  EXPECT_THAT(last(0, nodes_.key_of(0)).detail, HasSubstr("has no tiers"));
  EXPECT_EQ(last(0, "").code, Code::invalid_argument);
  EXPECT_EQ(last(0, std::string(kMaxKey + 1, 'k')).code, Code::invalid_argument);
}

TEST_F(Ranges, WithoutAMajorityThereIsNoStrongAnswer) {
  const std::string key = counter(0);
  for (const MemberIndex owner : nodes_.owners(key))
    if (owner != 0) nodes_.cut_off(owner);
  const auto id = nodes_.range(
      0, {.key = key, .level = ReadLevel::strong, .last = 5s, .step = 1s, .timeout_ms = 500});
  nodes_.pass(1s);
  EXPECT_EQ(nodes_.ranged(id).value().code, Code::no_quorum);
  EXPECT_EQ(last(0, key).code, Code::ok);
}

}  // namespace
}  // namespace quipu::test
