// Nodes that have room for a few counters in memory, and hold many.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

constexpr std::int64_t kCounters = 60;

HandDriven::Options cramped(std::size_t nodes = 3) {
  HandDriven::Options options;
  options.nodes = nodes;
  options.replication = nodes < 3 ? 1 : 3;
  options.settings.memory_limit = 1000;
  options.settings.checkpoint.slice_states = 4;
  return options;
}

std::string counter(std::int64_t i) { return "k" + std::to_string(i); }

bool resident(const HandDriven& nodes, MemberIndex node, const std::string& name) {
  const ShardMap& map = nodes.core(node).executor().map();
  return map.resident(map.place({name, 0}), {name, 0});
}

// k<i> counts i, and most are in the stores alone.
HandDriven filled(std::size_t nodes = 3) {
  HandDriven all(cramped(nodes));
  for (std::int64_t i = 0; i < kCounters; ++i) all.add(0, counter(i), i);
  all.pass(30s);
  for (const MemberIndex node : all.all()) {
    EXPECT_LE(all.core(node).executor().map().index().footprint(), 1000u);
    EXPECT_EQ(all.stat(node, "counters"), static_cast<std::uint64_t>(kCounters));
  }
  return all;
}

// The nth of those that this node has not in memory.
std::int64_t evicted(const HandDriven& nodes, MemberIndex node, int nth = 0) {
  for (std::int64_t i = 0; i < kCounters; ++i) {
    if (!resident(nodes, node, counter(i)) && nth-- == 0) return i;
  }
  ADD_FAILURE() << "all is in memory";
  return 0;
}

TEST(Evicted, CountersAreReadAtEveryLevelThroughEveryNode) {
  HandDriven nodes = filled();
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    for (const MemberIndex node : nodes.all()) {
      for (std::int64_t i = 0; i < kCounters; ++i)
        ASSERT_EQ(nodes.total(node, counter(i), level), i) << "level " << static_cast<int>(level);
    }
  }
  EXPECT_GT(nodes.stat(0, "shards_loaded"), 0u);
}

TEST(Evicted, CountersTakeAddsAndResetsOfEveryAck) {
  HandDriven nodes = filled();
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    const std::int64_t i = evicted(nodes, 1);
    EXPECT_EQ(nodes.code(nodes.add(1, counter(i), 1000, {.ack = ack})), Code::ok);
    EXPECT_EQ(nodes.total(1, counter(i), ReadLevel::local), i + 1000)
        << "what was just added is read";
    nodes.pass(1s);
    EXPECT_EQ(nodes.total(2, counter(i), ReadLevel::strong), i + 1000);
    EXPECT_EQ(nodes.code(nodes.reset(1, counter(i), {.ack = ack})), Code::ok);
    nodes.pass(1s);
    EXPECT_EQ(nodes.total(2, counter(i), ReadLevel::strong), 0);
    nodes.pass(20s);
  }
}

TEST(Evicted, CountersKeepTheirTokens) {
  HandDriven nodes = filled();
  const std::int64_t i = evicted(nodes, 1);
  const Token token = nodes.session(1, 1);
  const Ask ask{.ack = Ack::disk, .shard = 0, .token = token};
  EXPECT_EQ(nodes.code(nodes.add(1, counter(i), 7, ask)), Code::ok);
  for (std::int64_t other = 0; other < kCounters && resident(nodes, 1, counter(i)); ++other) {
    if (other != i) nodes.add(1, counter(other), 1);
    nodes.pass(1s);
  }
  ASSERT_FALSE(resident(nodes, 1, counter(i)));
  EXPECT_EQ(nodes.code(nodes.add(1, counter(i), 7, ask)), Code::ok);
  EXPECT_EQ(nodes.total(1, counter(i), ReadLevel::strong), i + 7);
}

TEST(Evicted, CountersGetMoreShards) {
  HandDriven nodes = filled();
  const std::int64_t i = evicted(nodes, 0);
  EXPECT_EQ(nodes.code(nodes.raise(0, counter(i), 4)), Code::ok);
  nodes.pass(30s);
  for (int n = 0; n < 12; ++n) nodes.add(0, counter(i), 100);
  nodes.pass(30s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(nodes.total(node, counter(i), ReadLevel::strong), i + 1200);
    EXPECT_EQ(nodes.total(node, counter(i), ReadLevel::local), i + 1200);
  }
}

TEST(Evicted, CountersAreListed) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}}) {
    HandDriven nodes = filled(size);
    std::multiset<std::string> told;
    for (std::uint32_t cursor = 0; cursor != kListEnd;) {
      const auto keys = nodes.keys(nodes.list(0, {.cursor = cursor, .limit = 5}));
      ASSERT_TRUE(keys && keys->code == Code::ok && keys->next > cursor) << "at " << cursor;
      told.insert(keys->keys.begin(), keys->keys.end());
      cursor = keys->next;
    }
    EXPECT_EQ(told.size(), static_cast<std::size_t>(kCounters));
    EXPECT_EQ(std::set(told.begin(), told.end()).size(), told.size());
  }
}

TEST(Evicted, CountersReachAPeerThatWasAway) {
  HandDriven nodes = filled();
  nodes.cut_off(2);
  for (std::int64_t i = 0; i < kCounters; ++i) nodes.add(0, counter(i), 1000);
  nodes.pass(60s);
  nodes.connect(2);
  nodes.pass(30s);
  for (std::int64_t i = 0; i < kCounters; ++i)
    ASSERT_EQ(nodes.total(2, counter(i), ReadLevel::local), i + 1000);
}

TEST(Evicted, CountersFillAReplacedDisk) {
  HandDriven nodes = filled();
  nodes.wipe(2, NewStore::marked);
  nodes.start(2);
  nodes.connect(2);
  nodes.pass(60s);
  EXPECT_TRUE(nodes.core(2).ready());
  for (std::int64_t i = 0; i < kCounters; ++i)
    ASSERT_EQ(nodes.total(2, counter(i), ReadLevel::local), i);
}

TEST(Evicted, CountersAreExactAfterAllNodesCrash) {
  HandDriven nodes = filled();
  for (const MemberIndex node : nodes.all()) nodes.crash(node);
  nodes.start_all();
  nodes.connect_all();
  nodes.pass(5s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(nodes.stat(node, "counters"), static_cast<std::uint64_t>(kCounters));
    for (std::int64_t i = 0; i < kCounters; ++i)
      ASSERT_EQ(nodes.total(node, counter(i), ReadLevel::strong), i);
  }
}

// ---- while the store is read ----

TEST(AddThatWaitsForTheStore, IsAnsweredInItsTurn) {
  HandDriven nodes = filled(1);
  const std::int64_t first = evicted(nodes, 0), second = evicted(nodes, 0, 1);
  nodes.hold_loads(0);
  const std::uint64_t a = nodes.add(0, counter(first), 1000);
  const std::uint64_t b = nodes.add(0, counter(second), 1000);  // waits for the next load
  const std::uint64_t c = nodes.add(0, counter(first), 1000);
  const std::uint64_t fresh = nodes.add(0, "never seen before", 1);
  nodes.pass(1s);
  for (const std::uint64_t id : {a, b, c}) EXPECT_FALSE(nodes.code(id));
  EXPECT_FALSE(nodes.core(0).quiet());
  nodes.release_loads(0);
  for (const std::uint64_t id : {a, b, c, fresh}) EXPECT_EQ(nodes.code(id), Code::ok);
  EXPECT_EQ(nodes.total(0, counter(first), ReadLevel::local), first + 2000);
  EXPECT_EQ(nodes.total(0, counter(second), ReadLevel::local), second + 1000);
}

// What the store held when it was asked is not what it holds when the answer comes.
TEST(ReadThatWaitsForTheStore, ShowsWhatWasAddedMeanwhile) {
  HandDriven nodes = filled(1);
  const std::int64_t i = evicted(nodes, 0);
  nodes.hold_loads(0);
  const std::uint64_t read = nodes.read(0, counter(i), ReadLevel::local);
  const std::uint64_t add = nodes.add(0, counter(i), 1000);
  nodes.pass(30s);  // time enough for checkpoints and evictions
  nodes.release_loads(0);
  EXPECT_EQ(nodes.code(add), Code::ok);
  EXPECT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.total(0, counter(i), ReadLevel::local), i + 1000);
}

TEST(OpThatWaitsForTheStore, KeepsItsPlaceBeforeLaterOpsOnItsShard) {
  HandDriven nodes = filled(1);
  const std::int64_t i = evicted(nodes, 0);
  nodes.hold_loads(0);
  nodes.read(0, counter(i), ReadLevel::local);  // the first load is for this
  const std::uint64_t reset = nodes.reset(0, counter(i), {.shard = 0});
  nodes.release_one_load(0);
  const std::uint64_t add = nodes.add(0, counter(i), 7, {.shard = 0});
  nodes.release_loads(0);
  EXPECT_EQ(nodes.code(reset), Code::ok);
  EXPECT_EQ(nodes.code(add), Code::ok);
  EXPECT_EQ(nodes.total(0, counter(i), ReadLevel::local), 7);
}

TEST(OpThatWaitsForTheStore, IsSeenByLaterReads) {
  HandDriven nodes = filled(1);
  const std::int64_t i = evicted(nodes, 0);
  nodes.hold_loads(0);
  nodes.read(0, counter(i), ReadLevel::local);
  nodes.add(0, counter(i), 1000);
  const std::uint64_t behind = nodes.read(0, counter(i), ReadLevel::local);
  nodes.release_one_load(0);
  const std::uint64_t later = nodes.read(0, counter(i), ReadLevel::local);
  nodes.release_loads(0);
  for (const std::uint64_t read : {behind, later}) {
    ASSERT_TRUE(nodes.value(read));
    EXPECT_EQ(nodes.value(read)->value, i + 1000);
  }
}

// A peer's answer comes sooner, and knows less.
TEST(ReadThatWaitsForTheStore, ShowsWhatThisNodeHasAcked) {
  HandDriven nodes = filled();
  const std::int64_t i = evicted(nodes, 0);
  nodes.meddle([](MemberIndex from, MemberIndex, PeerMessage& message) {
    const bool states =
        std::holds_alternative<DeltaFrame>(message) || std::holds_alternative<Pulled>(message);
    return from == 0 && states ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  EXPECT_EQ(nodes.code(nodes.add(0, counter(i), 1000)), Code::ok);
  for (std::int64_t n = 0; n < 600 && resident(nodes, 0, counter(i)); ++n) {
    if (n % kCounters != i) nodes.add(0, counter(n % kCounters), 1);
    nodes.pass(100ms);
  }
  ASSERT_FALSE(resident(nodes, 0, counter(i)));
  nodes.hold_loads(0);
  const std::uint64_t read = nodes.read(0, counter(i), ReadLevel::local);
  nodes.pass(1s);
  nodes.release_loads(0);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_EQ(nodes.value(read)->value, i + 1000);
}

// ---- bounds ----

// The names of those that n1 executes for n0, and has not in memory.
std::vector<std::string> forwarded(const HandDriven& nodes) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < kCounters; ++i) {
    if (nodes.owns(1, counter(i)) && !resident(nodes, 1, counter(i))) names.push_back(counter(i));
  }
  return names;
}

HandDriven two(std::size_t backlog_bytes) {
  HandDriven::Options options = cramped(2);
  options.settings.backlog_bytes = backlog_bytes;
  HandDriven nodes(options);
  for (std::int64_t i = 0; i < kCounters; ++i)
    nodes.add(nodes.owns(0, counter(i)) ? 0 : 1, counter(i), i);
  nodes.pass(30s);
  nodes.add(0, counter(0), 1);  // opens the forwarder's session
  nodes.add(1, counter(0), 1);
  return nodes;
}

TEST(OpThatWaitsForTheStore, IsCarriedOutThoughManyWait) {
  HandDriven nodes = two(20'000);
  const std::vector<std::string> names = forwarded(nodes);
  ASSERT_GT(names.size(), 12u);
  nodes.hold_loads(1);
  std::vector<std::uint64_t> adds;
  for (const std::string& name : names) adds.push_back(nodes.add(0, name, 1));
  nodes.release_loads(1);
  nodes.pass(1s);
  for (const std::uint64_t add : adds) EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(OpThatWaitsForTheStore, IsBacklogHoweverOftenItIsForwarded) {
  HandDriven nodes = two(20'000);
  nodes.hold_loads(1);
  for (const std::string& name : forwarded(nodes)) nodes.add(0, name, 1, {.timeout_ms = 3'600'000});
  for (int flap = 0; flap < 40; ++flap) {
    nodes.cut(0, 1);
    nodes.connect(0, 1);
    nodes.pass(1s);
  }
  EXPECT_LT(nodes.stat(1, "held_bytes"), 40'000u);
}

TEST(Evicted, CountersLeaveMemoryAsFastAsOthersCome) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  HandDriven::Options options = cramped(1);
  options.settings.memory_limit = kLimit;
  options.settings.checkpoint.slice_states = 1000;
  HandDriven nodes(options);
  std::size_t most = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> names;
    for (int i = 0; i < 5000; ++i) names.push_back(counter(round * 5000 + i));
    nodes.add_all(0, names);
    most = std::max(most, nodes.core(0).executor().map().index().footprint());
  }
  EXPECT_LT(most, 4 * kLimit);
}

// What this node asks itself goes the way of what a peer asks.
TEST(ListThatWaitsForTheStore, IsToldThoughThereWasNoRoomForItsQuestion) {
  HandDriven::Options options = cramped(1);
  options.settings.backlog_bytes = 4000;
  HandDriven nodes(options);
  for (std::int64_t i = 0; i < kCounters; ++i) nodes.add(0, counter(i), i);
  nodes.pass(30s);
  nodes.stall(0);
  for (int i = 0; i < 100; ++i) nodes.add(0, "new" + std::to_string(i), 1);
  const Placement missing = nodes.core(0).executor().map().place({counter(evicted(nodes, 0)), 0});
  List from_there;
  from_there.cursor = raw(missing.partition()) * std::uint32_t{kLeaves} + missing.leaf();
  const std::uint64_t list = nodes.list(0, from_there);
  EXPECT_FALSE(nodes.keys(list));
  nodes.resume(0);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.keys(list));
  EXPECT_EQ(nodes.keys(list)->code, Code::ok);
}

// Peers are heard for so long as there is room for what they bring, and no longer.
TEST(MessageThatWaitsForTheStore, CountsAsBacklog) {
  HandDriven::Options options = cramped();
  options.settings.unsynced_bytes = 4000;
  HandDriven nodes(options);
  for (std::int64_t i = 0; i < kCounters; ++i) nodes.add(0, counter(i), i);
  nodes.pass(30s);
  nodes.hold_loads(1);
  for (std::int64_t i = 0; i < kCounters; ++i) nodes.add(1, counter(i), 1);
  EXPECT_TRUE(nodes.core(1).paused());
  nodes.release_loads(1);
  nodes.pass(10s);
  EXPECT_FALSE(nodes.core(1).paused());
  for (std::int64_t i = 0; i < kCounters; ++i)
    ASSERT_EQ(nodes.total(1, counter(i), ReadLevel::strong), i + 1);
}

}  // namespace
}  // namespace quipu::test
