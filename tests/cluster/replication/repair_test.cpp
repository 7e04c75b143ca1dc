// Anti-entropy: what replication missed is found and fetched, and nobody's answers
// can keep it busy for ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

std::string key(std::int64_t i) { return "k" + std::to_string(i); }

// Node 0 holds `count` counters that 1 was never told of; 1's next look is a routine one.
void miss(HandDriven& nodes, int count) {
  nodes.pass(1s);
  nodes.meddle([](MemberIndex, MemberIndex to, PeerMessage& message) {
    auto* frame = std::get_if<DeltaFrame>(&message);
    if (frame && to == 1) frame->delta = Delta{};
    return HandDriven::Fate::deliver;
  });
  for (int i = 0; i < count; ++i) (void)nodes.add(0, key(i), 1, {.ack = Ack::memory});
  nodes.pass(1s);
  nodes.be_fair();
}

TEST(Repair, FindsOneMissedShardAtARoutineLook) {
  HandDriven nodes;
  miss(nodes, 1);
  ASSERT_EQ(nodes.held(1, key(0)), 0);
  nodes.pass(14s);
  EXPECT_EQ(nodes.held(1, key(0)), 1);
  EXPECT_EQ(nodes.stat(1, "repair_shards"), 1u);
}

TEST(Repair, FetchesTenThousandMissedShards) {
  HandDriven nodes;
  miss(nodes, 10'000);
  nodes.pass(30s);
  int missing = 0;
  for (int i = 0; i < 10'000; ++i) missing += nodes.held(1, key(i)) == 0;
  EXPECT_EQ(missing, 0);
  EXPECT_EQ(nodes.stat(1, "conflicts"), 0u);
}

// However many are aimed at one leaf, an answer is bounded, and none is left out. Nothing but
// the repair brings them, so the questions must get further within the leaf.
TEST(Repair, FetchesALeafThatExceedsAnAnswer) {
  for (const bool urgent : {false, true}) {
    SCOPED_TRACE(urgent ? "on a new link" : "at a routine look");
    HandDriven::Options options;
    options.settings.repair_answer_bytes = 60;  // of keys, two
    HandDriven nodes(options);
    nodes.pass(1s);
    const auto leaf = [&](const std::string& name) {
      const Placement place = nodes.core(0).executor().map().place({name, 0});
      return LeafId{place.partition(), place.leaf()};
    };
    std::vector<std::string> aimed;
    for (int i = 0; aimed.size() < 9; ++i) {
      if (aimed.empty() || leaf(key(i)) == leaf(aimed[0])) aimed.push_back(key(i));
    }
    nodes.meddle([](MemberIndex, MemberIndex to, PeerMessage& message) {
      auto* frame = std::get_if<DeltaFrame>(&message);
      if (frame && to == 1) frame->delta = Delta{};
      return HandDriven::Fate::deliver;
    });
    for (const std::string& name : aimed) ASSERT_EQ(nodes.code(nodes.add(0, name, 1)), Code::ok);
    nodes.pass(1s);
    for (const std::string& name : aimed) ASSERT_EQ(nodes.held(1, name), 0);
    if (urgent) {
      nodes.cut_off(1);
      nodes.connect(1);
    }
    nodes.pass(14s);
    for (const std::string& name : aimed) EXPECT_EQ(nodes.held(1, name), 1);
    (void)nodes.take_traffic();
    nodes.pass(12s);
    EXPECT_LE(nodes.take_traffic()[FrameType::pull], 20U) << "the repair ends";
  }
}

TEST(Repair, FetchesOnlyWhatDiffers) {
  HandDriven nodes;
  for (int i = 0; i < 2'000; ++i)
    (void)nodes.add(0, "same" + std::to_string(i), 1, {.ack = Ack::memory});
  nodes.pass(1s);
  miss(nodes, 5);
  nodes.pass(14s);
  EXPECT_EQ(nodes.stat(1, "repair_shards"), 5u);
}

// Under load replicas differ all the time by what is on its way.
TEST(Repair, ARoutineLookFollowsOnlyWhatStillDiffersASecondLater) {
  HandDriven nodes;
  nodes.pass(1s);
  for (int i = 0; i < 300; ++i) {
    (void)nodes.add(0, key(i % 7), 1, {.ack = Ack::memory});
    nodes.pass(100ms);
  }
  EXPECT_LE(nodes.stat(1, "repair_shards"), 7u);
  EXPECT_GE(nodes.stat(1, "repair_pulls"), 2u);
}

TEST(Repair, BeginsAtOnceOnANewLink) {
  HandDriven nodes;
  miss(nodes, 50);
  nodes.cut(0, 1);
  nodes.connect(0, 1);
  nodes.pass(500ms);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(nodes.held(1, key(i)), 1);
}

TEST(Repair, TakesOverWhenAnOutboxOverflows) {
  HandDriven::Options options;
  options.settings.outbox_shards = 100;
  HandDriven nodes(options);
  nodes.pass(1s);
  nodes.cut(0, 1);
  for (int i = 0; i < 10'000; ++i) (void)nodes.add(0, key(i), 1, {.ack = Ack::memory});
  EXPECT_GE(nodes.stat(0, "outboxes_lost"), 1u);
  nodes.connect(0, 1);
  nodes.pass(30s);
  int missing = 0;
  for (int i = 0; i < 10'000; ++i) missing += nodes.held(1, key(i)) == 0;
  EXPECT_EQ(missing, 0);
  EXPECT_GE(nodes.stat(1, "repair_shards"), 9'000u);
}

TEST(Repair, AfterALostOutboxALocalReadIsCompleteOnlyWhenItEnded) {
  HandDriven::Options options;
  options.settings.outbox_shards = 10;
  HandDriven nodes(options);
  nodes.pass(1s);
  bool silent = true;
  nodes.meddle([&](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool dropped = silent && from == 0 && to == 1 && std::holds_alternative<Pulled>(message);
    return dropped ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.stall(0);  // so that all come in one interval
  for (int i = 0; i < 100; ++i) (void)nodes.add(0, key(i), 1, {.ack = Ack::memory});
  nodes.resume(0);
  nodes.pass(nodes.settings(0).gossip_interval);
  ASSERT_GE(nodes.stat(0, "outboxes_lost"), 1u);
  nodes.pass(2s);
  const auto during = nodes.value(nodes.read(1, key(0), ReadLevel::local));
  ASSERT_TRUE(during);
  EXPECT_FALSE(during->complete);
  silent = false;
  nodes.cut(0, 1);
  nodes.connect(0, 1);
  nodes.pass(2s);
  const auto after = nodes.value(nodes.read(1, key(0), ReadLevel::local));
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->complete);
  EXPECT_EQ(after->value, 1);
}

TEST(Repair, AQuorumAddIsAnsweredThoughAnOutboxIsLost) {
  HandDriven::Options options;
  options.settings.outbox_shards = 10;
  HandDriven nodes(options);
  nodes.pass(1s);
  nodes.stall(1), nodes.stall(2);
  const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum, .timeout_ms = 1000});
  for (int i = 0; i < 100; ++i) (void)nodes.add(0, key(i), 1, {.ack = Ack::memory});
  nodes.resume(1), nodes.resume(2);
  nodes.pass(2s);
  ASSERT_TRUE(nodes.code(add));
  EXPECT_TRUE(nodes.code(add) == Code::ok || nodes.code(add) == Code::in_doubt);
}

TEST(Repair, AnAnswerThatAnswersNothingEndsTheLook) {
  HandDriven nodes;
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* answer = std::get_if<Pulled>(&message)) answer->answered = 0;
    return HandDriven::Fate::deliver;
  });
  miss(nodes, 10);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* answer = std::get_if<Pulled>(&message)) answer->answered = 0;
    return HandDriven::Fate::deliver;
  });
  (void)nodes.take_traffic();
  nodes.pass(30s);
  EXPECT_LE(nodes.take_traffic()[FrameType::pull], 60u);
}

TEST(Repair, AnAnswerAboutForeignPartitionsIsIgnored) {
  HandDriven::Options options;
  options.nodes = 5;
  HandDriven nodes(options);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    auto* answer = std::get_if<Pulled>(&message);
    if (answer && answer->kind == PullKind::partitions) {
      for (std::uint16_t p = 0; p < 256; ++p)
        answer->partitions.push_back({Partition{p}, Hash128{1, p}});
    }
    if (answer && answer->kind == PullKind::root) answer->answered = 0;
    return HandDriven::Fate::deliver;
  });
  nodes.cut_off(0);
  nodes.connect(0);
  nodes.pass(30s);
  SUCCEED();
}

// What claims more than was asked, something else, or another kind of thing.
TEST(Repair, AnAnswerToAnotherQuestionThanWasAskedCountsAsNoRepair) {
  using Tampering = void (*)(Pulled&);
  const std::pair<const char*, Tampering> lies[] = {
      {"another kind",
       [](Pulled& answer) {
         if (answer.kind == PullKind::keys)
           answer.kind = PullKind::partitions, answer.shards.clear();
       }},
      {"more partitions than were asked",
       [](Pulled& answer) {
         if (answer.kind == PullKind::partitions)
           answer.answered = kPartitions, answer.partitions.clear();
       }},
      {"more leaves than were asked",
       [](Pulled& answer) {
         if (answer.kind == PullKind::keys) answer.answered = 0xffff'ffff, answer.shards.clear();
       }},
      {"keys of other leaves",
       [](Pulled& answer) {
         for (ShardDigest& one : answer.shards) one.shard.key += "?";
       }},
      {"states that nobody asked for",
       [](Pulled& answer) {
         if (answer.kind != PullKind::states) return;
         answer.states = Delta{};
         answer.states.push({"other", 0}, ShardState{});
       }},
  };
  for (const auto& [name, lie] : lies) {
    SCOPED_TRACE(name);
    HandDriven nodes;
    (void)nodes.add(0, "a", 1);
    nodes.pass(1s);
    nodes.wipe(1, NewStore::marked);
    nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
      auto* answer = std::get_if<Pulled>(&message);
      if (answer && from == 0) lie(*answer);
      return HandDriven::Fate::deliver;
    });
    nodes.start(1);
    nodes.connect(0, 1);
    nodes.pass(3s);
    EXPECT_THAT(nodes.meta(1).filled_from, ::testing::IsEmpty());
    nodes.be_fair();
    nodes.pass(3s);
    EXPECT_EQ(nodes.held(1, "a"), 1);
    EXPECT_THAT(nodes.meta(1).filled_from, ::testing::SizeIs(1));
  }
}

}  // namespace
}  // namespace quipu::test
