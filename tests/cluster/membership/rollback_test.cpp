// Disks that come back from an older copy, and what a restart does to actors.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

std::vector<ActorId> actors(const ShardState& state) {
  std::vector<ActorId> names;
  for (const Cell& cell : state.cells) names.push_back(cell.actor);
  return names;
}

// Node 0 adds 1 and 2 to "a", loses the 2, and notices it at its next handshake. Returns the store
// that it was before.
StoreId roll_back(HandDriven& nodes) {
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  const MemoryDisk old_disk = nodes.disk(0);
  const StoreId old_store = nodes.meta(0).store;
  (void)nodes.add(0, "a", 2);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.disk(0) = old_disk;
  nodes.start(0);
  nodes.connect(0);
  EXPECT_EQ(nodes.restarts(0), 1u);
  return old_store;
}

TEST(Rollback, IsNoticedInTheHandshakeAndTheStoreBecomesAnother) {
  HandDriven nodes;
  const StoreId old_store = roll_back(nodes);
  EXPECT_NE(nodes.meta(0).store, old_store);
  EXPECT_TRUE(nodes.meta(0).marked);

  nodes.connect(0);
  nodes.pass(2s);
  EXPECT_TRUE(nodes.core(0).ready()) << nodes.core(0).state();
  EXPECT_EQ(nodes.held(0, "a"), 3);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 4, {.ack = Ack::quorum})), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(nodes.held(node, "a"), 7);
    EXPECT_EQ(nodes.state(node, "a").cells.size(), 2u);  // a fresh actor
    EXPECT_EQ(nodes.stat(node, "conflicts"), 0u);
  }
}

// Before it has met its peers again, its own pins still name the store before.
TEST(Rollback, LeavesNobodyToAnswerForTheStoreBefore) {
  HandDriven nodes;
  const StoreId old_store = roll_back(nodes);
  nodes.cut_off(0);
  nodes.pass(2s);
  ASSERT_NE(nodes.meta(0).store, old_store);

  Op session;
  session.kind = OpKind::open_session;
  session.token.store = old_store;
  EXPECT_EQ(nodes.code(nodes.op(0, session)), Code::executor_gone);
  const Token token{.store = old_store, .serial = Serial{1}, .number = 1, .floor = 1};
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.shard = 0, .token = token})), Code::executor_gone);
}

TEST(Rollback, CountsForNoQuorumBeforeItHasPulledFromAMajority) {
  HandDriven nodes;
  const MemoryDisk old_disk = nodes.disk(0);
  nodes.cut(0, 2);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 2, {.ack = Ack::quorum})), Code::ok);  // on 0 and 1
  nodes.crash(0);
  nodes.disk(0) = old_disk;
  nodes.start(0);
  nodes.connect(0, 1);
  ASSERT_EQ(nodes.restarts(0), 1u);
  nodes.connect(0, 1);  // the new store is pinned
  nodes.crash(1);
  nodes.connect(0, 2);
  nodes.pass(2s);
  const auto read = nodes.read(0, "a", ReadLevel::strong, 500);
  nodes.pass(1s);
  ASSERT_TRUE(nodes.value(read));
  EXPECT_TRUE(nodes.value(read)->code == Code::no_quorum || nodes.value(read)->value == 2);
}

// Who reads strongly passes on later what it was told, though it keeps nothing of it.
TEST(Rollback, IsNoticedByWhoWasToldOfItInARead) {
  HandDriven nodes(five());
  nodes.pass(1s);
  const MemberIndex reader = 1;
  std::string key;
  for (std::size_t nth = 0; key.empty() || nodes.owns(reader, key); ++nth)
    key = nodes.key_of(0, nth);
  const MemoryDisk old_disk = nodes.disk(0);
  nodes.meddle([](MemberIndex from, MemberIndex, PeerMessage& message) {
    const bool told = std::holds_alternative<DeltaFrame>(message) ||
                      (from != 0 && std::holds_alternative<Collected>(message));
    return told ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  ASSERT_EQ(nodes.code(nodes.add(0, key, 2)), Code::ok);
  (void)nodes.read(reader, key, ReadLevel::strong);
  nodes.crash(0);
  nodes.disk(0) = old_disk;
  nodes.start(0);
  nodes.connect(0, reader);
  EXPECT_EQ(nodes.restarts(0), 1u);
}

// The disk of a counter's executor goes back, and lacks records of which only one other node
// has heard: it does not own the counter, and asks for it at a majority, which does not answer
// yet. The owners know of nothing that was lost. So the executor counts on under its actor,
// below the commits that this node holds.
struct LostRecords {
  static constexpr MemberIndex kExecutor = 0;
  HandDriven nodes{five()};
  std::string key;
  MemberIndex asker = 1;
  std::vector<MemberIndex> others;  // owners besides the executor

  template <class Question>
  explicit LostRecords(Question ask) {
    nodes.pass(1s);
    while (nodes.owns(asker, key = nodes.key_of(kExecutor))) ++asker;
    others = nodes.owners(key);
    std::erase(others, kExecutor);
    const Token token = nodes.session(asker, asker);
    (void)nodes.add(kExecutor, key, 1, {.ack = Ack::quorum});
    const MemoryDisk copy = nodes.disk(kExecutor);
    for (const MemberIndex owner : others) nodes.cut(asker, owner);
    nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
      const bool told = std::holds_alternative<DeltaFrame>(message);
      return told ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
    });
    for (int i = 0; i < 10; ++i) (void)nodes.add(kExecutor, key, 100);  // these will be lost
    ask(*this, token);
    nodes.crash(kExecutor);
    nodes.be_fair();
    nodes.disk(kExecutor) = copy;
    nodes.start(kExecutor);
    for (const MemberIndex peer : nodes.all()) {
      if (peer != kExecutor && peer != asker) nodes.connect(kExecutor, peer);
    }
    nodes.pass(1s);
    EXPECT_EQ(nodes.code(nodes.add(kExecutor, key, 5, {.ack = Ack::quorum})), Code::ok);
    EXPECT_EQ(nodes.restarts(kExecutor), 0u);
    EXPECT_EQ(actors(nodes.state(kExecutor, key)).size(), 1u);
    for (const MemberIndex owner : others) nodes.connect(asker, owner);
    nodes.pass(1s);
  }
};

TEST(Rollback, AWriteBackOfWhatWasLostSwallowsNothingThatWasAcknowledgedSince) {
  std::uint64_t read = 0;
  LostRecords lost([&](LostRecords& in, const Token&) {
    read = in.nodes.read(in.asker, in.key, ReadLevel::strong);
  });
  HandDriven& nodes = lost.nodes;
  ASSERT_TRUE(nodes.value(read)) << "it collects anew, and ends";
  EXPECT_EQ(nodes.value(read)->code, Code::ok);
  EXPECT_EQ(nodes.value(read)->value, 6);
  for (const MemberIndex owner : nodes.owners(lost.key))
    EXPECT_EQ(nodes.held(owner, lost.key), 6) << owner;
}

// What it observed is on no majority, so it keeps nothing of it.
TEST(Rollback, AResetThatObservedWhatWasLostAndEndedSwallowsNothingEither) {
  std::uint64_t reset = 0;
  LostRecords lost([&](LostRecords& in, const Token& token) {
    reset = in.nodes.reset(in.asker, in.key,
                           {.ack = Ack::quorum, .shard = 0, .token = token, .timeout_ms = 500});
  });
  HandDriven& nodes = lost.nodes;
  EXPECT_EQ(nodes.code(reset), Code::no_quorum);
  for (const MemberIndex owner : nodes.owners(lost.key))
    EXPECT_EQ(nodes.held(owner, lost.key), 6) << owner;
  EXPECT_EQ(nodes.held(lost.asker, lost.key), 0);
}

TEST(Rollback, ThatIsNoticedLateWaitsForNothingButItsLastWrite) {
  HandDriven nodes;
  const MemoryDisk copy = nodes.disk(0);
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.disk(0) = copy;
  nodes.start(0);
  nodes.pass(2s);  // alone, it waits for testimony no longer
  nodes.stall(0);
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_EQ(nodes.restarts(0), 0u);
  nodes.resume(0);
  EXPECT_EQ(nodes.restarts(0), 1u);
}

// Who heard of it would pin it, and a crash would leave a disk that nobody takes any more.
TEST(Rollback, TellsNobodyOfItsNewStoreBeforeThatIsOnItsDisk) {
  HandDriven nodes;
  const MemoryDisk copy = nodes.disk(0);
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.disk(0) = copy;
  nodes.start(0);
  nodes.pass(2s);
  nodes.stall(0);
  nodes.connect(0, 1);  // which notices
  nodes.connect(0, 2);
  nodes.pass(1s);
  nodes.crash(0);  // loses what it was about to become
  nodes.resume(0);
  nodes.start(0);
  nodes.connect(0);
  nodes.connect(0);
  nodes.pass(3s);
  EXPECT_TRUE(nodes.up(0, 1)) << nodes.peer_state(0, 1);
  EXPECT_TRUE(nodes.up(0, 2)) << nodes.peer_state(0, 2);
}

TEST(Rollback, ToWhatItsPeersWereToldOfIsNone) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.stall(0);
  (void)nodes.add(0, "a", 2, {.ack = Ack::memory});
  nodes.pass(200ms);
  nodes.restart(0);
  EXPECT_EQ(nodes.restarts(0), 0u);
  EXPECT_TRUE(nodes.up(0, 1));
}

TEST(Rollback, OfTwoNodesFromOneCopyOnlyOneKeepsTheStore) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  const MemoryDisk copy = nodes.disk(0);
  const StoreId store = nodes.meta(0).store;
  nodes.restart(0);
  (void)nodes.add(0, "a", 2);
  nodes.pass(1s);
  const MemoryDisk first = nodes.disk(0);
  EXPECT_EQ(nodes.meta(0).store, store);

  nodes.crash(0);  // as if its host were cut off while the copy runs
  nodes.disk(0) = copy;
  nodes.start(0);
  nodes.connect(0);
  EXPECT_EQ(nodes.restarts(0), 1u);
  nodes.connect(0);
  nodes.pass(1s);
  EXPECT_NE(nodes.meta(0).store, store);

  nodes.crash(0);
  nodes.disk(0) = first;
  nodes.start(0);
  nodes.connect(0);
  EXPECT_FALSE(nodes.up(0, 1)) << "a store that was replaced must not come back";
}

// A peer's first greeting testifies for what it has heard so far; more of the last life may
// be on its way to it.
TEST(Rollback, IsNotRuledOutByWhoStillHearsTheLifeBefore) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  const MemoryDisk copy = nodes.disk(0);
  nodes.cut(0, 2);
  nodes.hold_link(0, 1);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 2)), Code::ok);
  nodes.pass(100ms);
  nodes.crash(0);
  nodes.disk(0) = copy;
  nodes.start(0);
  nodes.meddle([](MemberIndex from, MemberIndex to, PeerMessage& message) {
    const bool first = from == 0 && to == 1 && std::holds_alternative<Hello>(message);
    return first ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  nodes.connect(0);
  EXPECT_FALSE(nodes.core(0).ready());
  nodes.release_links();
  ASSERT_EQ(nodes.held(1, "a"), 3);
  EXPECT_NE(nodes.code(nodes.add(0, "a", 5)), Code::ok);
  nodes.be_fair();
  nodes.pass(100ms);
  EXPECT_EQ(nodes.restarts(0), 1u);
  nodes.connect(0);
  nodes.pass(2s);
  ASSERT_EQ(nodes.code(nodes.add(0, "a", 5)), Code::ok);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 8);
}

TEST(Restart, WithItsPeersKeepsTheActors) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  nodes.restart(0);
  nodes.pass(100ms);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1)), Code::ok);
  EXPECT_EQ(actors(nodes.state(0, "a")).size(), 1u);
  EXPECT_EQ(nodes.held(0, "a"), 2);
}

TEST(Restart, WithoutAReachablePeerServesAfterASecondWithFreshActors) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  nodes.crash(0);
  nodes.start(0);
  EXPECT_FALSE(nodes.core(0).ready());
  nodes.pass(999ms);
  EXPECT_FALSE(nodes.core(0).ready());
  nodes.pass(1ms);
  EXPECT_TRUE(nodes.core(0).ready());
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1)), Code::ok);
  EXPECT_EQ(actors(nodes.state(0, "a")).size(), 2u);
  nodes.connect(0);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 2);
}

// However often it starts beside a peer that is down: else each start would leave a cell behind.
TEST(Restart, ThatItsPeersConfirmLateGoesBackToItsActors) {
  HandDriven nodes;
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  const std::vector<ActorId> old = actors(nodes.state(0, "a"));
  for (int start = 0; start < 3; ++start) {
    nodes.crash(0);
    nodes.start(0);
    nodes.pass(1s);
    for (int i = 0; i < (start == 0 ? 2 : 1); ++i)
      EXPECT_EQ(nodes.code(nodes.add(0, start == 0 ? "a" : "b", 1)), Code::ok)
          << "by another actor";
    if (start < 2) continue;  // the next start comes before its peers do
    nodes.connect(0);
    nodes.pass(1s);
  }
  const std::vector<Cell> before = nodes.state(0, "a").cells;
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 5)), Code::ok);
  nodes.pass(1s);
  const std::vector<Cell> after = nodes.state(0, "a").cells;
  ASSERT_EQ(after.size(), 2u);
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i].sum - before[i].sum, after[i].actor == old[0] ? 5 : 0);
  // Its records say whose sums they are.
  nodes.restart(0);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) EXPECT_EQ(nodes.held(node, "a"), 7 + 1);
}

TEST(Restart, LosesNothingThatWasDurable) {
  HandDriven nodes;
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(nodes.code(nodes.add(0, "k" + std::to_string(i), i)), Code::ok);
  for (const MemberIndex node : nodes.all()) nodes.crash(node);
  nodes.start_all();
  nodes.connect_all();
  nodes.pass(2s);
  for (const MemberIndex node : nodes.all()) {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(nodes.held(node, "k" + std::to_string(i)), i) << node;
  }
}

}  // namespace
}  // namespace quipu::test
