// Where the adds of one client meet: the `hash` choice of a shard.
#include "protocol/affinity.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

constexpr ShardIndex kShards = 8;

ShardIndex expected(const HandDriven& nodes, const std::string& key, Affinity affinity,
                    ShardIndex usable = kShards) {
  return shard_for(affinity, nodes.core(0).executor().map().place({key, 0}), usable);
}

// What each shard's owners hold of it, once all have heard; 0 is left out.
std::map<ShardIndex, std::int64_t> by_shard(HandDriven& nodes, const std::string& key) {
  nodes.pass(1s);
  std::map<ShardIndex, std::int64_t> held;
  for (ShardIndex shard = 0; shard < kShards; ++shard) {
    const std::int64_t here = nodes.held(nodes.owners(key, shard)[0], key, shard);
    if (here != 0) held[shard] = here;
  }
  return held;
}

using Held = std::map<ShardIndex, std::int64_t>;

TEST(Affinity, AddsOfOneMeetInOneShardThroughEveryNode) {
  HandDriven nodes(five());
  for (std::uint64_t client = 1; client <= 10; ++client) {
    const Affinity affinity{client};
    const std::string key = "k" + std::to_string(client);
    ASSERT_EQ(nodes.code(nodes.raise(0, key, kShards)), Code::ok);
    for (const MemberIndex node : nodes.all())
      EXPECT_EQ(nodes.code(nodes.add(node, key, 1, {.affinity = affinity})), Code::ok) << node;
    EXPECT_EQ(by_shard(nodes, key), (Held{{expected(nodes, key, affinity), 5}}));
  }
}

TEST(Affinity, AddsOfManyUseAllShards) {
  HandDriven nodes;
  ASSERT_EQ(nodes.code(nodes.raise(0, "a", kShards)), Code::ok);
  for (std::uint64_t client = 1; client <= 100; ++client)
    ASSERT_EQ(nodes.code(nodes.add(0, "a", 1, {.affinity = Affinity{client}})), Code::ok);
  EXPECT_EQ(by_shard(nodes, "a").size(), kShards);
  EXPECT_EQ(nodes.total(0, "a", ReadLevel::strong), 100);
}

TEST(Affinity, OfACounterThatIsNotSpreadChangesNothing) {
  HandDriven nodes(five());
  for (const MemberIndex node : nodes.all())
    EXPECT_EQ(nodes.code(nodes.add(node, "a", 1, {.affinity = Affinity{9}})), Code::ok) << node;
  EXPECT_EQ(by_shard(nodes, "a"), (Held{{0, 5}}));
}

TEST(Affinity, AfterARaiseAddsGoByTheNewCountThroughEveryNode) {
  HandDriven nodes(five());
  const Affinity affinity{7};
  ASSERT_EQ(nodes.code(nodes.raise(0, "a", 2)), Code::ok);
  for (const MemberIndex node : nodes.all())
    ASSERT_EQ(nodes.code(nodes.add(node, "a", 1, {.affinity = affinity})), Code::ok);
  ASSERT_EQ(nodes.code(nodes.raise(3, "a", kShards)), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all())
    ASSERT_EQ(nodes.code(nodes.add(node, "a", 1, {.affinity = affinity})), Code::ok);
  Held held;
  held[expected(nodes, "a", affinity, 2)] += 5;
  held[expected(nodes, "a", affinity)] += 5;
  EXPECT_EQ(by_shard(nodes, "a"), held);
}

// Whoever executes may still believe that there is one shard.
TEST(Affinity, RightAfterARaiseNoExecutorRefusesTheShard) {
  HandDriven nodes(five());
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    for (const MemberIndex node : nodes.all()) (void)nodes.read(node, key, ReadLevel::local);
    ASSERT_EQ(nodes.code(nodes.raise(0, key, kShards)), Code::ok);
    for (const MemberIndex node : nodes.all()) {
      const auto add = nodes.add(node, key, 1, {.affinity = Affinity{5}});
      EXPECT_EQ(nodes.code(add), Code::ok) << nodes.done(add)->detail;
    }
    nodes.pass(1s);
    EXPECT_EQ(nodes.total(0, key, ReadLevel::strong), 5);
  }
}

TEST(Affinity, AddsThatWaitToLearnTheCountShareOneQuestion) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.raise(nodes.owners(key)[0], key, kShards)), Code::ok);
  for (const MemberIndex owner : nodes.owners(key)) nodes.hold(owner, 0);
  (void)nodes.take_traffic();
  std::vector<std::uint64_t> adds;
  for (int i = 0; i < 10; ++i) adds.push_back(nodes.add(0, key, 1, {.affinity = Affinity{5}}));
  for (const auto add : adds) EXPECT_FALSE(nodes.done(add));
  EXPECT_EQ(nodes.take_traffic()[FrameType::collect], 1u);
  for (const MemberIndex owner : nodes.owners(key)) nodes.release(owner, 0);
  nodes.run();
  for (const auto add : adds) EXPECT_EQ(nodes.code(add), Code::ok);
  EXPECT_EQ(by_shard(nodes, key), (Held{{expected(nodes, key, Affinity{5}), 10}}));
}

TEST(Affinity, AddsThatCannotLearnTheCountInTimeAreNotApplied) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  for (const MemberIndex owner : nodes.owners(key)) nodes.hold(owner, 0);
  const auto add = nodes.add(0, key, 1, {.timeout_ms = 500, .affinity = Affinity{5}});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(add), Code::unavailable);
  for (const MemberIndex owner : nodes.owners(key)) nodes.release(owner, 0);
  EXPECT_EQ(by_shard(nodes, key), Held{});
}

TEST(Affinity, ACutOffNodeGoesByWhatItKnows) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  ASSERT_EQ(nodes.code(nodes.raise(1, key, kShards)), Code::ok);
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1, {.affinity = Affinity{5}})), Code::ok);
  EXPECT_EQ(nodes.held(0, key), 1);
  nodes.connect(0);
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(1, key, ReadLevel::strong), 1);
}

// The shard is chosen once: the retry is no other add, though the counter has grown.
TEST(Affinity, ForwardedAddsKeepTheirShardWhenTheyAreSentAgain) {
  HandDriven nodes(five());
  const Affinity affinity{5};
  int tried = 0;
  for (int i = 0; tried < 5; ++i) {
    const std::string key = "k" + std::to_string(i);
    const ShardIndex shard = expected(nodes, key, affinity, 2);
    if (nodes.owns(0, key, shard) || shard == expected(nodes, key, affinity)) continue;
    ++tried;
    ASSERT_EQ(nodes.code(nodes.raise(1, key, 2)), Code::ok);
    ASSERT_EQ(nodes.code(nodes.add(0, key, 1, {.affinity = affinity})), Code::ok);
    const MemberIndex executor = nodes.owners(key, shard)[0];
    nodes.hold(executor, 0);
    const auto add = nodes.add(0, key, 1, {.affinity = affinity});
    EXPECT_FALSE(nodes.done(add));
    const MemberIndex other = executor == 1 ? 2 : 1;
    ASSERT_EQ(nodes.code(nodes.raise(other, key, kShards)), Code::ok);
    nodes.cut(0, executor);
    nodes.release(executor, 0);
    nodes.connect(0, executor);
    EXPECT_EQ(nodes.code(add), Code::ok);
    EXPECT_EQ(by_shard(nodes, key), (Held{{shard, 2}}));
  }
}

TEST(Affinity, BesideAShardOrOfAnythingButAnAddIsRefused) {
  HandDriven nodes;
  const Affinity affinity{5};
  const Token token = nodes.session(0, 0);
  const Ask tokened{.shard = 0, .token = token, .affinity = affinity};
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .affinity = affinity})),
            Code::invalid_argument);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, tokened)), Code::invalid_argument);
  EXPECT_EQ(nodes.code(nodes.reset(0, "a", {.affinity = affinity})), Code::invalid_argument);
  EXPECT_EQ(nodes.held(0, "a"), 0);
}

}  // namespace
}  // namespace quipu::test
