// When an add is acknowledged, and what an acknowledgement at quorum takes.
#include <gtest/gtest.h>

#include <limits>

#include "protocol/random.h"
#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

TEST(Adds, AtMemoryAreAcknowledgedBeforeTheyAreDurable) {
  HandDriven nodes;
  nodes.stall(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::memory})), Code::ok);
}

TEST(Adds, AtMemoryTakeNoSyncOfTheirOwn) {
  HandDriven nodes;
  nodes.pass(1s);
  const auto sealed = [&] { return raw(nodes.core(0).executor().sealed()); };
  const std::uint64_t before = sealed();
  (void)nodes.add(0, "a", 1, {.ack = Ack::memory});
  (void)nodes.add(0, "b", 1, {.ack = Ack::memory});
  EXPECT_EQ(sealed(), before);
  (void)nodes.add(0, "c", 1);
  EXPECT_EQ(sealed(), before + 1) << "all three are in one record";
  nodes.restart(0);
  EXPECT_EQ(nodes.held(0, "a") + nodes.held(0, "b") + nodes.held(0, "c"), 3);
}

TEST(Adds, AtMemoryAreOnTheDiskAfterAGossipIntervalAtMost) {
  HandDriven::Options alone;
  alone.nodes = alone.replication = 1;
  HandDriven nodes(alone);
  nodes.pass(1s);
  (void)nodes.add(0, "a", 1, {.ack = Ack::memory});
  nodes.pass(nodes.settings(0).gossip_interval);
  nodes.restart(0);
  EXPECT_EQ(nodes.held(0, "a"), 1);
}

TEST(Adds, AtMemoryAreSentWithTheNextGossip) {
  HandDriven nodes;
  nodes.pass(1s);
  const Duration interval = nodes.settings(0).gossip_interval;
  nodes.pass(interval / 2);
  (void)nodes.add(0, "a", 1, {.ack = Ack::memory});
  nodes.pass(interval);
  EXPECT_EQ(nodes.held(1, "a"), 1);
  EXPECT_EQ(nodes.held(2, "a"), 1);
}

// Time stands still; sealing very many at once would keep everybody waiting.
TEST(Adds, AtMemoryDoNotWaitForTheGossipIfTheyAreMany) {
  HandDriven nodes;
  nodes.pass(1s);
  const Commit before = nodes.core(0).executor().sealed();
  for (int i = 0; i < 4000; ++i)
    (void)nodes.add(0, nodes.key_of(0) + std::to_string(i), 1, {.ack = Ack::memory});
  EXPECT_GT(nodes.core(0).executor().sealed(), before);
  EXPECT_LT(nodes.core(0).executor().open_bytes(), 65'536u);
}

TEST(Adds, AtDiskAreAcknowledgedOnceTheyAreDurable) {
  HandDriven nodes;
  nodes.stall(0);
  const auto add = nodes.add(0, "a", 1);
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(0);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(Adds, NothingIsSentToPeersBeforeItIsDurable) {
  HandDriven nodes;
  nodes.pass(1s);
  nodes.stall(0);
  (void)nodes.add(0, "a", 1);
  nodes.pass(1s);
  EXPECT_EQ(nodes.held(1, "a"), 0);
  nodes.resume(0);
  nodes.pass(200ms);
  EXPECT_EQ(nodes.held(1, "a"), 1);
}

// One that names its shard is asked all that may be asked of an op.
TEST(Adds, PlainOnesAreToldTheSameAsThoseThatTakeTheLongWay) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  HandDriven::Options options;
  options.replication = 2;
  HandDriven plain(options), named(options);
  Random random(1);
  std::map<Code, int> met;
  for (int i = 0; i < 3000; ++i) {
    const auto node = static_cast<MemberIndex>(random.below(3));
    const std::string key = "k" + std::to_string(random.below(8));
    const std::int64_t amounts[] = {1, -1, 0, 5, kMost, kMost / 2, kLeast, kLeast / 2};
    const std::int64_t amount = amounts[random.below(std::size(amounts))];
    const Ack ack = random.below(2) == 0 ? Ack::memory : Ack::disk;
    const auto other = static_cast<MemberIndex>((node + 1) % 3);
    const std::uint64_t event = random.below(40);
    for (HandDriven* nodes : {&plain, &named}) {
      if (event == 0) (void)nodes->reset(node, key);
      if (event == 1) nodes->cut(node, other);
      if (event == 2) nodes->connect_all();
      if (event == 3) nodes->restart(node);
      if (event == 4) nodes->pass(1s);
    }
    const auto a = plain.done(plain.add(node, key, amount, {.ack = ack}));
    const auto b = named.done(named.add(node, key, amount, {.ack = ack, .shard = 0}));
    ASSERT_EQ(a.has_value(), b.has_value()) << "step " << i;
    if (!a) continue;
    ASSERT_EQ(std::tie(a->code, a->detail, a->usable, a->total),
              std::tie(b->code, b->detail, b->usable, b->total))
        << "step " << i << ": " << amount << " to " << key << " at " << node;
    ++met[a->code];
  }
  EXPECT_GT(met[Code::ok], 1000);
  EXPECT_GT(met[Code::out_of_range], 100);
  for (const MemberIndex node : plain.all())
    EXPECT_EQ(plain.stat(node, "adds_executed"), named.stat(node, "adds_executed"));
}

TEST(Adds, AtQuorumWaitForOneOtherOwnersDisk) {
  HandDriven nodes;
  nodes.stall(1), nodes.stall(2);
  const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum});
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(2);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(Adds, AtQuorumDoNotWaitForTheGossipInterval) {
  HandDriven nodes;
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

TEST(Adds, AtQuorumAreRefusedUnappliedWithoutAMajority) {
  HandDriven nodes;
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::no_quorum);
  EXPECT_EQ(nodes.held(0, "a"), 0);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1)), Code::ok);
}

TEST(Adds, AtQuorumAreInDoubtIfTheOthersFallSilent) {
  HandDriven nodes;
  nodes.stall(1), nodes.stall(2);
  const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum, .timeout_ms = 500});
  nodes.pass(1s);
  EXPECT_EQ(nodes.code(add), Code::in_doubt);
}

// Its own copy is not one of the owners': with it, one owner would do.
TEST(Adds, AtQuorumThatAreInDoubtSayWhetherTheyAreDurableHere) {
  for (const bool durable : {true, false}) {
    HandDriven nodes;
    nodes.hold(1, 0), nodes.hold(2, 0);
    if (!durable) nodes.stall(0);
    const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum, .timeout_ms = 500});
    nodes.pass(1s);
    ASSERT_EQ(nodes.code(add), Code::in_doubt);
    EXPECT_EQ(nodes.done(add)->detail.find("durable here"), durable ? 0U : std::string::npos)
        << nodes.done(add)->detail;
  }
}

TEST(Adds, AtQuorumByAnExecutorThatOwnsNothingNeedTwoOwners) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const auto owners = nodes.owners(key);
  const Token token = nodes.session(0, 0);
  nodes.stall(owners[0]), nodes.stall(owners[1]), nodes.stall(owners[2]);
  const auto add = nodes.add(0, key, 1, {.ack = Ack::quorum, .shard = 0, .token = token});
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(owners[0]);
  EXPECT_FALSE(nodes.done(add));
  nodes.resume(owners[1]);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(Adds, AnAckFromAReplicaThatGoesByOtherPinsDoesNotCountAndIsAskedForAgain) {
  HandDriven nodes;
  nodes.cut_off(2);
  bool stale = true;
  nodes.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* ack = std::get_if<DeltaAck>(&message); ack && stale) ack->code = Code::stale_config;
    return HandDriven::Fate::deliver;
  });
  // 2 counts as up for the check, but never answers.
  nodes.connect(0, 2);
  nodes.hold(2, 0);
  const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum});
  nodes.pass(500ms);
  EXPECT_FALSE(nodes.done(add));
  stale = false;
  nodes.pass(300ms);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

// A retired store may have acked it, or one that the new pins do not know.
TEST(Adds, WhatAnotherOwnsIsDroppedOnlyOnceAllHoldItByThePresentPins) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const auto owners = nodes.owners(key);
  const Token token = nodes.session(0, 0);
  bool stale = true;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    auto* ack = std::get_if<DeltaAck>(&message);
    if (ack && stale && from == owners[1]) ack->code = Code::stale_config;
    return HandDriven::Fate::deliver;
  });
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1, {.shard = 0, .token = token})), Code::ok);
  nodes.pass(1s);
  EXPECT_EQ(nodes.held(0, key), 1);
  stale = false;
  nodes.pass(1s);
  EXPECT_EQ(nodes.held(0, key), 0);
  EXPECT_EQ(nodes.stat(0, "partitions_dropped"), 1U);
}

TEST(Adds, WhatAnotherOwnsIsOfferedAnewWhenPinsMove) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const auto owners = nodes.owners(key);
  const Token token = nodes.session(0, 0);
  nodes.cut(0, owners[2]);  // so that it is not dropped yet
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1, {.shard = 0, .token = token})), Code::ok);
  nodes.pass(1s);  // the two others have acked it
  for (const MemberIndex owner : owners) nodes.crash(owner);
  nodes.wipe(owners[0], NewStore::marked);
  nodes.start(owners[0]);
  nodes.connect(0, owners[0]);
  nodes.pass(2s);
  EXPECT_EQ(nodes.held(owners[0], key), 1);
  EXPECT_EQ(nodes.held(0, key), 1);
}

TEST(Adds, AnAckForAnUnfilledCopyDoesNotCount) {
  HandDriven nodes;
  nodes.hold(2, 0);
  bool unfilled = true;
  nodes.meddle([&](MemberIndex, MemberIndex, PeerMessage& message) {
    auto* ack = std::get_if<DeltaAck>(&message);
    if (ack && unfilled) ack->unfilled = {nodes.partition("a")};
    return HandDriven::Fate::deliver;
  });
  const auto add = nodes.add(0, "a", 1, {.ack = Ack::quorum});
  nodes.pass(500ms);
  EXPECT_FALSE(nodes.done(add));
  unfilled = false;
  nodes.pass(300ms);
  EXPECT_EQ(nodes.code(add), Code::ok);
}

TEST(Adds, OfAnotherNodesShardsAreForwardedToAnOwner) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 4)), Code::ok);
  EXPECT_EQ(nodes.total(nodes.owners(key)[0], key, ReadLevel::strong), 4);
  EXPECT_EQ(nodes.held(0, key), 0);
}

TEST(Adds, WithoutAReachableOwnerAreExecutedHereOfferedAndDropped) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.cut_off(0);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 4)), Code::ok);
  EXPECT_EQ(nodes.held(0, key), 4);

  nodes.connect(0);
  nodes.pass(1s);
  for (const MemberIndex owner : nodes.owners(key)) EXPECT_EQ(nodes.held(owner, key), 4) << owner;
  EXPECT_EQ(nodes.core(0).executor().map().ledger().size(nodes.partition(key)), 0u);
  EXPECT_EQ(nodes.stat(0, "partitions_dropped"), 1u);
}

TEST(Adds, ExecutedHereAreDroppedThoughOthersComeAllTheTime) {
  HandDriven nodes(five());
  nodes.cut_off(0);
  ASSERT_EQ(nodes.code(nodes.add(0, nodes.key_not_of(0), 4)), Code::ok);
  nodes.connect(0);
  for (int i = 0; i < 100; ++i) {
    (void)nodes.add(0, nodes.key_of(0), 1, {.ack = Ack::memory});
    nodes.pass(10ms);
  }
  EXPECT_EQ(nodes.stat(0, "partitions_dropped"), 1u);
}

TEST(Adds, ExecutedHereAreOfferedAgainAfterARestart) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.cut_off(0);
  ASSERT_EQ(nodes.code(nodes.add(0, key, 4)), Code::ok);
  nodes.restart(0);
  nodes.pass(2s);
  for (const MemberIndex owner : nodes.owners(key)) EXPECT_EQ(nodes.held(owner, key), 4) << owner;
  EXPECT_EQ(nodes.held(0, key), 0);
}

// The tick that offers what is sealed must not drop what it seals.
TEST(Adds, ExecutedWhileTheRestIsDroppedAreKept) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  const Token first = nodes.session(0, 0);
  Token second = first;
  second.number = 2;
  ASSERT_EQ(nodes.code(nodes.add(0, key, 1, {.ack = Ack::quorum, .shard = 0, .token = first})),
            Code::ok);
  const std::string own = nodes.key_of(0);
  nodes.stall(0);
  (void)nodes.add(0, own, 1);  // sealed, and on its way to the disk
  (void)nodes.add(0, own, 1);  // open
  (void)nodes.add(0, key, 1, {.shard = 0, .token = second});
  nodes.pass(100ms);
  nodes.resume(0);
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(nodes.owners(key)[0], key, ReadLevel::strong), 2);
}

TEST(Adds, ACutOffNodeReadsWhatItAccepted) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  nodes.cut_off(0);
  ASSERT_EQ(nodes.code(nodes.add(0, key, 4)), Code::ok);
  const auto local = nodes.value(nodes.read(0, key, ReadLevel::local));
  ASSERT_TRUE(local);
  EXPECT_EQ(local->value, 4);
  EXPECT_FALSE(local->complete);
}

TEST(Adds, AnEdgeNodeExecutesNothing) {
  HandDriven::Options options;
  options.nodes = 4;
  options.edges = {0};
  HandDriven nodes(options);
  MemberIndex edge = 0;
  while (nodes.config().members[edge].weight != 0) ++edge;
  EXPECT_EQ(nodes.code(nodes.add(edge, "a", 1)), Code::ok);
  const Token own{nodes.meta(edge).store, Serial{1}, 1, 1};
  const MemberIndex other = edge == 0 ? 1 : 0;
  for (const MemberIndex asked : {edge, other}) {
    EXPECT_EQ(nodes.code(nodes.op(asked, {.token = {own.store}, .kind = OpKind::open_session})),
              Code::executor_gone);
    EXPECT_EQ(nodes.code(nodes.add(asked, "a", 1, {.shard = 0, .token = own})),
              Code::executor_gone);
  }
  EXPECT_EQ(nodes.code(nodes.op(edge, {.kind = OpKind::open_session})), Code::unavailable);
  EXPECT_EQ(nodes.code(nodes.add(edge, "a", 1, {.shard = 0, .token = nodes.session(edge, other)})),
            Code::ok);
  EXPECT_EQ(nodes.total(edge, "a", ReadLevel::strong), 2);
  nodes.cut_off(edge);
  EXPECT_EQ(nodes.code(nodes.add(edge, "a", 1)), Code::unavailable);
}

TEST(Adds, BeyondTheBoundOfWaitingOnesAreRefusedUnappliedButEventualOnesAreNot) {
  HandDriven::Options options;
  options.settings.pending_operations = 10;
  HandDriven nodes(options);
  nodes.stall(1), nodes.stall(2);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(nodes.done(nodes.add(0, "a", 1, {.ack = Ack::quorum})));
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::overloaded);
  EXPECT_EQ(nodes.held(0, "a"), 10);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1)), Code::ok);
}

TEST(Adds, ForwardedBeyondTheBoundAreRefused) {
  HandDriven::Options options = five();
  options.settings.pending_operations = 10;
  HandDriven nodes(options);
  const std::string key = nodes.key_not_of(0);
  for (const MemberIndex owner : nodes.owners(key)) nodes.hold(owner, 0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(nodes.done(nodes.add(0, key, 1)));
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::overloaded);
}

// The next start replays what the checkpoint has not put yet.
TEST(Adds, OfANodeThatStopsAreDurableWithoutWaitingForACheckpoint) {
  HandDriven::Options alone;
  alone.nodes = alone.replication = 1;
  alone.settings.checkpoint = {.journal_bytes = 1000, .slice_states = 1, .cut_records = 1};
  HandDriven nodes(alone);
  nodes.stall(0);
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) last = nodes.add(0, "key" + std::to_string(i), 1);
  nodes.begin_closing(0);
  EXPECT_FALSE(nodes.core(0).quiet());
  nodes.resume(0);
  EXPECT_EQ(nodes.code(last), Code::ok);
  EXPECT_TRUE(nodes.core(0).quiet());
  EXPECT_TRUE(nodes.core(0).executor().checkpointing());
  nodes.restart(0);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(nodes.held(0, "key" + std::to_string(i)), 1);
}

TEST(Adds, PauseReadingFromClientsWhileTheDiskIsFarBehind) {
  HandDriven::Options options;
  options.settings.unsynced_bytes = 10'000;
  HandDriven nodes(options);
  nodes.stall(0);
  (void)nodes.add(0, "a", 1);
  for (int i = 0; i < 200; ++i) (void)nodes.add(0, std::string(300, 'k') + std::to_string(i), 1);
  nodes.pass(200ms);
  EXPECT_TRUE(nodes.core(0).paused());
  nodes.resume(0);
  EXPECT_FALSE(nodes.core(0).paused());
}

// Time stands still, so nothing seals: it all waits in one open record.
TEST(Adds, PauseReadingFromClientsWhileTheOpenRecordIsTooLarge) {
  HandDriven::Options options;
  options.settings.unsynced_bytes = 10'000;
  HandDriven nodes(options);
  nodes.stall(0);
  (void)nodes.add(0, "a", 1);
  for (int i = 0; i < 200; ++i) (void)nodes.add(0, std::string(300, 'k') + std::to_string(i), 1);
  EXPECT_TRUE(nodes.core(0).paused());
  nodes.resume(0);
  EXPECT_FALSE(nodes.core(0).paused());
}

// A hot counter adds nothing to the record; who waits for it takes memory all the same.
TEST(Adds, PauseReadingFromClientsWhileTooManyAnswersWaitForTheDisk) {
  HandDriven::Options options;
  options.settings.unsynced_bytes = 20'000;
  HandDriven nodes(options);
  nodes.stall(0);
  const std::string key = nodes.key_of(0);
  for (int i = 0; i < 500; ++i) (void)nodes.add(0, key, 1);
  EXPECT_TRUE(nodes.core(0).paused());
  nodes.resume(0);
  EXPECT_FALSE(nodes.core(0).paused());
}

// Peers are always read, but what would be kept is not taken, and comes again later.
TEST(Adds, TakeNoMoreFromPeersThanThereIsRoomForWhileTheDiskHangs) {
  HandDriven::Options options;
  options.settings.unsynced_bytes = 8'000;
  options.settings.backlog_bytes = 8'000;
  options.settings.frame_bytes = 2'000;
  HandDriven nodes(options);
  nodes.pass(1s);
  nodes.stall(0);
  const auto numbered = [](int i) { return std::string(300, 'k') + std::to_string(i); };
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) (void)nodes.add(1, numbered(round * 20 + i), 1);
    nodes.pass(100ms);
  }
  EXPECT_TRUE(nodes.core(0).paused());
  EXPECT_LT(nodes.core(0).executor().open_bytes() + nodes.stat(0, "unsynced_bytes"), 12'000u);

  nodes.resume(0);
  nodes.pass(30s);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(nodes.held(0, numbered(i)), 1) << i;
}

TEST(Adds, RefuseForwardedOnesWhileTheDiskHangsButAnswerTheirRetries) {
  HandDriven::Options options = five();
  options.settings.unsynced_bytes = 10'000;
  options.settings.backlog_bytes = 10'000;
  HandDriven nodes(options);
  const std::string key = nodes.key_not_of(0);
  const MemberIndex executor = nodes.owners(key).front();
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);  // opens a session there
  nodes.stall(executor);
  (void)nodes.add(executor, key, 1);
  for (int i = 0; i < 200; ++i)
    (void)nodes.add(executor, std::string(300, 'k') + std::to_string(i), 1);
  ASSERT_TRUE(nodes.core(executor).paused());
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::overloaded);
  nodes.resume(executor);
  EXPECT_EQ(nodes.code(nodes.add(0, key, 1)), Code::ok);
  EXPECT_EQ(nodes.held(executor, key), 3);
}

// ---- a node that closes ----

// An owner of the key that `node` forwards its adds to.
MemberIndex executor_of(const HandDriven& nodes, MemberIndex node, const std::string& key) {
  for (const MemberIndex owner : nodes.owners(key))
    if (owner != node && nodes.up(node, owner)) return owner;
  throw std::runtime_error("no other owner is up");
}

TEST(ClosingNode, GetsNoMoreChangesOfOthersAndIsQuietOnceTheyKnow) {
  HandDriven nodes({.nodes = 5});
  const std::string key = nodes.key_not_of(0);
  nodes.pass(1s);
  const MemberIndex closing = executor_of(nodes, 0, key);
  for (const MemberIndex node : nodes.all())
    if (node != closing) nodes.hold(closing, node);
  nodes.begin_closing(closing);
  nodes.pass(50ms);
  EXPECT_FALSE(nodes.core(closing).quiet()) << "who does not know that it closes may send to it";
  for (const MemberIndex node : nodes.all())
    if (node != closing) nodes.release(closing, node);
  nodes.run();
  EXPECT_TRUE(nodes.core(closing).quiet()) << "they answer at once";
  const std::uint64_t executed = nodes.stat(closing, "adds_executed");
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum})
    EXPECT_EQ(nodes.code(nodes.add(0, key, 1, {.ack = ack})), Code::ok);
  EXPECT_EQ(nodes.stat(closing, "adds_executed"), executed);
  nodes.pass(1s);
  EXPECT_EQ(nodes.total(0, key, ReadLevel::strong), 3);
}

TEST(ClosingNode, WhatIsOnItsWayThereGoesElsewhere) {
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    HandDriven nodes({.nodes = 5});
    const std::string key = nodes.key_not_of(0);
    nodes.pass(1s);
    const MemberIndex closing = executor_of(nodes, 0, key);
    nodes.add(0, key, 1, {.ack = ack});
    nodes.hold(0, closing);
    const auto add = nodes.add(0, key, 1, {.ack = ack});
    nodes.begin_closing(closing);
    EXPECT_FALSE(nodes.core(closing).quiet());
    nodes.release(0, closing);
    nodes.pass(200ms);
    EXPECT_EQ(nodes.code(add), Code::ok);
    EXPECT_TRUE(nodes.core(closing).quiet());
    nodes.cut_off(closing);
    nodes.pass(1s);
    EXPECT_EQ(nodes.total(0, key, ReadLevel::strong), 2);
  }
}

TEST(ClosingNode, StillAcknowledgesWhatOthersCarryOut) {
  HandDriven nodes({.nodes = 2, .replication = 2});
  nodes.begin_closing(1);
  EXPECT_EQ(nodes.code(nodes.add(0, "a", 1, {.ack = Ack::quorum})), Code::ok);
}

TEST(ClosingNode, HandsItsOwnChangesOverBeforeOthersTakeItsPlace) {
  HandDriven nodes;
  const std::string key = nodes.key_of(0);
  nodes.pass(1s);
  nodes.add(0, key, 1, {.ack = Ack::memory});
  EXPECT_EQ(nodes.held(1, key), 0) << "before the gossip";
  nodes.stall(0);
  nodes.add(0, key, 1, {.ack = Ack::memory});
  nodes.begin_closing(0);
  EXPECT_FALSE(nodes.core(1).view().closing(0)) << "its last change is not durable";
  nodes.resume(0);
  EXPECT_TRUE(nodes.core(1).view().closing(0));
  EXPECT_EQ(nodes.held(1, key), 2);
}

TEST(ClosingNode, IsNotQuietWhileAMemberThatIsUpHasNotComparedWithIt) {
  NodeSettings settings;
  settings.outbox_shards = 1;
  HandDriven nodes({.settings = settings});
  nodes.pass(1s);
  EXPECT_TRUE(nodes.core(0).quiet());
  nodes.stall(1);
  for (const char* const key : {"a", "b"}) nodes.add(0, key, 1);
  nodes.pass(300ms);
  nodes.begin_closing(0);
  nodes.pass(300ms);
  EXPECT_FALSE(nodes.core(0).quiet()) << "the outbox was lost, and is empty";
  nodes.resume(1);
  nodes.pass(1s);
  EXPECT_TRUE(nodes.core(0).quiet());
}

TEST(ClosingNode, StillCarriesOutWhatItsOwnClientsAsked) {
  HandDriven nodes;
  nodes.begin_closing(0);
  EXPECT_EQ(nodes.code(nodes.add(0, nodes.key_of(0), 1, {.ack = Ack::quorum})), Code::ok);
}

}  // namespace
}  // namespace quipu::test
