// What List and CountKeys tell through any node: all counters that exist, in bounded steps,
// or that somebody is missing who would know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using ::testing::HasSubstr;

std::uint32_t place_of(const HandDriven& nodes, std::string_view key) {
  const Placement placement = nodes.core(0).executor().map().place({key, 0});
  return raw(placement.partition()) * std::uint32_t{kLeaves} + placement.leaf();
}

HandDriven alone_with_keys(std::size_t count) {
  HandDriven nodes(HandDriven::Options{.nodes = 1, .replication = 1});
  for (std::size_t i = 0; i < count; ++i) nodes.add(0, "k" + std::to_string(i), 1);
  return nodes;
}

TEST(List, TellsEveryKeyOnceWhateverTheLimit) {
  constexpr std::size_t kKeys = 3000;
  HandDriven nodes = alone_with_keys(kKeys);
  for (const std::uint32_t limit : {1u, 7u, 1000u}) {
    std::map<std::string, int> told;
    std::uint32_t cursor = 0;
    while (cursor != kListEnd) {
      const Keys keys = *nodes.keys(nodes.list(0, {.cursor = cursor, .limit = limit}));
      for (const std::string& key : keys.keys) ++told[key];
      ASSERT_GT(keys.next, cursor);
      cursor = keys.next;
    }
    EXPECT_EQ(told.size(), kKeys);
    for (const auto& [key, times] : told) ASSERT_EQ(times, 1) << key;
  }
}

// The answer has a bound, and who asks has it, too: none may be exceeded by a leaf
// that comes last. Only where one leaf alone is more is it told as a whole.
TEST(List, StopsBeforeALeafThatDoesNotFit) {
  constexpr std::size_t kKeys = 5000;
  HandDriven nodes = alone_with_keys(kKeys);
  std::map<std::uint32_t, int> places;
  for (std::size_t i = 0; i < kKeys; ++i) ++places[place_of(nodes, "k" + std::to_string(i))];
  std::size_t pairs = 0;
  for (auto at = places.begin(); std::next(at) != places.end(); ++at) {
    const auto [second, size] = *std::next(at);
    if (at->second != 1 || size != 2 || second - at->first > 60 * kLeaves) continue;
    ++pairs;
    const Keys keys = *nodes.keys(nodes.list(0, {.cursor = at->first, .limit = 2}));
    EXPECT_EQ(keys.keys.size(), 1u);
    EXPECT_EQ(keys.next, second);
    EXPECT_EQ(nodes.keys(nodes.list(0, {.cursor = second, .limit = 1}))->keys.size(), 2u);
  }
  EXPECT_GT(pairs, 0u) << "nothing tested";
}

// ---- across owners ----

using Names = std::multiset<std::string>;

// All that a node tells, step by step.
Names told(HandDriven& nodes, MemberIndex node, std::string_view prefix = "") {
  Names names;
  for (std::uint32_t cursor = 0; cursor != kListEnd;) {
    const auto keys = nodes.keys(nodes.list(node, {.prefix = prefix, .cursor = cursor}));
    if (!keys || keys->code != Code::ok || keys->next <= cursor) {
      ADD_FAILURE() << "stuck at " << cursor << (keys ? ": " + keys->detail : "");
      break;
    }
    names.insert(keys->keys.begin(), keys->keys.end());
    cursor = keys->next;
  }
  return names;
}

KeyCount sized(HandDriven& nodes, MemberIndex node) {
  return nodes.sized(nodes.size(node)).value_or(KeyCount{.code = Code::in_doubt});
}

// So many, each through another node, and known to all owners.
Names fill(HandDriven& nodes, std::size_t count) {
  Names names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = (i % 2 == 0 ? "a:" : "b:") + std::to_string(i);
    (void)nodes.add(static_cast<MemberIndex>(i % nodes.all().size()), key, 1);
    names.insert(key);
  }
  nodes.pass(1s);
  return names;
}

HandDriven::Options one_copy() {
  HandDriven::Options options;
  options.replication = 1;
  return options;
}

// The first place of a partition that only `owner` owns.
std::uint32_t place_owned_by(const HandDriven& nodes, MemberIndex owner) {
  for (std::uint16_t p = 0;; ++p) {
    if (nodes.config().owners.owns(owner, Partition{p})) return p * std::uint32_t{kLeaves};
  }
}

TEST(ListThroughAnyNode, TellsEachCounterOfTheClusterOnce) {
  HandDriven::Options options = five();
  options.edges = {4};
  HandDriven nodes(options);
  const Names names = fill(nodes, 300);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(told(nodes, node), names) << "node " << node;
    EXPECT_EQ(sized(nodes, node).counters, names.size()) << "node " << node;
  }
  const Names some = told(nodes, 0, "b:");
  EXPECT_EQ(some.size(), 150u);
  for (const std::string& name : some) EXPECT_THAT(name, HasSubstr("b:"));
  EXPECT_TRUE(told(nodes, 0, std::string(kMaxKey + 1, 'a')).empty());
}

TEST(ListThroughAnyNode, LeavesOutWhatWasResetAndKeepsWhatIsSpread) {
  HandDriven nodes(five());
  (void)nodes.add(0, "gone", 1);
  (void)nodes.add(0, "kept", 0);
  ASSERT_EQ(nodes.code(nodes.raise(0, "spread", 8)), Code::ok);
  (void)nodes.add(0, "back", 1);
  nodes.pass(1s);
  (void)nodes.reset(1, "gone");
  (void)nodes.reset(1, "back");
  nodes.pass(1s);
  (void)nodes.add(2, "back", 1);
  nodes.pass(1s);
  for (const MemberIndex node : nodes.all()) {
    EXPECT_EQ(told(nodes, node), (Names{"back", "kept", "spread"}));
    EXPECT_EQ(sized(nodes, node).counters, 3u);
  }
}

TEST(ListThroughAnyNode, NeedsOneLiveOwnerOfEachPartition) {
  HandDriven nodes(five());
  const Names names = fill(nodes, 100);
  nodes.crash(3);
  nodes.crash(4);
  for (const MemberIndex node : nodes.all()) {
    if (!nodes.running(node)) continue;
    EXPECT_EQ(told(nodes, node), names);
    EXPECT_EQ(sized(nodes, node).counters, names.size());
  }
}

TEST(ListThroughAnyNode, SaysSoWhereNoOwnerAnswers) {
  HandDriven nodes(one_copy());
  (void)fill(nodes, 30);
  nodes.crash(2);
  const std::uint32_t place = place_owned_by(nodes, 2);
  const std::uint64_t list = nodes.list(0, {.cursor = place, .timeout_ms = 1000});
  nodes.pass(900ms);
  EXPECT_FALSE(nodes.keys(list)) << "it may come back";
  nodes.pass(300ms);
  ASSERT_TRUE(nodes.keys(list));
  EXPECT_EQ(nodes.keys(list)->code, Code::unavailable);
  const std::string& missing = nodes.config().members[2].name;
  EXPECT_THAT(nodes.keys(list)->detail, HasSubstr(missing));
  EXPECT_EQ(nodes.keys(list)->next, place) << "nothing is skipped";
  EXPECT_EQ(sized(nodes, 0).code, Code::unavailable) << "nobody else could tell";
  EXPECT_THAT(sized(nodes, 0).detail, HasSubstr(missing));

  const std::uint64_t patient = nodes.list(0, {.cursor = place});
  nodes.start(2);
  nodes.connect(2);
  nodes.pass(200ms);
  ASSERT_TRUE(nodes.keys(patient));
  EXPECT_EQ(nodes.keys(patient)->code, Code::ok);
}

// Up to where somebody is missing, all is told as if nobody were.
TEST(ListThroughAnyNode, EndsInFrontOfWhatNobodyTells) {
  HandDriven nodes(one_copy());
  const Names names = fill(nodes, 500);
  nodes.crash(2);
  std::size_t partitions = 0;
  Names found;
  for (std::uint32_t cursor = 0; cursor != kListEnd;) {
    const std::uint64_t id = nodes.list(0, {.cursor = cursor, .timeout_ms = 1});
    nodes.pass(100ms);
    const auto keys = nodes.keys(id);
    ASSERT_TRUE(keys);
    found.insert(keys->keys.begin(), keys->keys.end());
    if (keys->code == Code::ok) {
      ASSERT_GT(keys->next, cursor);
      cursor = keys->next;
      continue;
    }
    ASSERT_EQ(keys->next, cursor);
    const Partition partition{static_cast<std::uint16_t>(cursor / kLeaves)};
    ASSERT_TRUE(nodes.config().owners.owns(2, partition));
    cursor += kLeaves;
    ++partitions;
    if (partitions == 20) break;
  }
  EXPECT_EQ(partitions, 20u);
  for (const std::string& name : found) {
    EXPECT_EQ(names.count(name), 1u);
    EXPECT_FALSE(nodes.owns(2, name));
  }
}

// Whose answers are dropped; which may be asked, and answer in vain.
class Silent : public testing::TestWithParam<bool> {};

TEST_P(Silent, AnOwnerIsReplacedByAnother) {
  const bool link_lost = GetParam();
  HandDriven nodes(five());
  const Names names = fill(nodes, 40);
  const std::string key = nodes.key_not_of(0);
  (void)nodes.add(0, key, 1);
  nodes.pass(1s);
  std::set<MemberIndex> asked;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    const bool answer = std::holds_alternative<ListedPart>(message) ||
                        std::holds_alternative<KeyCountPart>(message);
    const bool dropped = answer && from == nodes.owners(key).front();
    if (dropped) asked.insert(from);
    return dropped ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const std::uint64_t list = nodes.list(0, {.prefix = key, .cursor = place_of(nodes, key)});
  const std::uint64_t size = nodes.size(0);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_FALSE(nodes.keys(list));
  EXPECT_FALSE(nodes.sized(size));
  if (link_lost) {
    nodes.cut(0, *asked.begin());
    nodes.run();
  } else {
    nodes.pass(300ms);
  }
  ASSERT_TRUE(nodes.keys(list));
  EXPECT_EQ(nodes.keys(list)->keys, std::vector<std::string>{key});
  ASSERT_TRUE(nodes.sized(size));
  EXPECT_EQ(nodes.sized(size)->counters, names.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Owners, Silent, testing::Bool(),
                         [](const auto& one) { return one.param ? "cut_off" : "slow"; });

TEST(ListThroughAnyNode, IsNotAnsweredByACopyThatIsNotFilled) {
  HandDriven nodes(five());
  const Names names = fill(nodes, 100);
  nodes.wipe(1, NewStore::marked);
  nodes.start(1);
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    return std::holds_alternative<Pulled>(message) || std::holds_alternative<DeltaFrame>(message)
               ? HandDriven::Fate::drop
               : HandDriven::Fate::deliver;
  });
  nodes.connect(1);
  for (const MemberIndex node : nodes.all()) {
    ASSERT_TRUE(node == 0 || nodes.up(0, node));
    EXPECT_EQ(told(nodes, node), names) << "node " << node;
    EXPECT_EQ(sized(nodes, node).counters, names.size()) << "node " << node;
  }
}

// ---- what peers may say ----

struct Lie {
  const char* name;
  std::function<void(const HandDriven&, ListedPart&)> tell;
};

class LyingOwner : public testing::TestWithParam<Lie> {};

TEST_P(LyingOwner, IsNotBelieved) {
  HandDriven nodes(five());
  const std::string key = nodes.key_not_of(0);
  (void)nodes.add(0, key, 1);
  nodes.pass(1s);
  const MemberIndex liar = nodes.owners(key).front();
  std::size_t lies = 0;
  nodes.meddle([&](MemberIndex from, MemberIndex, PeerMessage& message) {
    auto* const listed = std::get_if<ListedPart>(&message);
    if (listed != nullptr && from == liar) GetParam().tell(nodes, *listed), ++lies;
    return HandDriven::Fate::deliver;
  });
  const std::uint64_t list = nodes.list(0, {.prefix = key, .cursor = place_of(nodes, key)});
  EXPECT_EQ(lies, 1u);
  ASSERT_TRUE(nodes.keys(list)) << "another owner is asked at once";
  EXPECT_EQ(nodes.keys(list)->keys, std::vector<std::string>{key});
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LyingOwner,
    testing::Values(Lie{"it_does_not_go_on",
                        [](const HandDriven& nodes, ListedPart& it) {
                          it.next = place_of(nodes, it.keys.front());
                        }},
                    Lie{"it_tells_of_what_it_does_not_own",
                        [](const HandDriven&, ListedPart& it) { it.next = kListEnd; }},
                    Lie{"a_key_without_the_prefix",
                        [](const HandDriven&, ListedPart& it) { it.keys = {"other"}; }},
                    Lie{"a_key_that_lies_elsewhere",
                        [](const HandDriven&, ListedPart& it) {
                          it.keys = {it.keys.front() + "'"};
                        }},
                    Lie{"a_key_twice", [](const HandDriven&,
                                          ListedPart& it) { it.keys.push_back(it.keys.front()); }}),
    [](const auto& one) { return one.param.name; });

TEST(LyingOwners, AreUnavailableWhenNobodyElseIsLeft) {
  HandDriven nodes(one_copy());
  nodes.meddle([](MemberIndex, MemberIndex, PeerMessage& message) {
    if (auto* const listed = std::get_if<ListedPart>(&message)) listed->next = kListEnd;
    if (auto* const sized = std::get_if<KeyCountPart>(&message))
      sized->counted = Partitions::all().without(sized->counted);
    return HandDriven::Fate::deliver;
  });
  const std::uint64_t list = nodes.list(0, {.cursor = place_owned_by(nodes, 1)});
  (void)nodes.take_traffic();
  nodes.pass(5200ms);
  EXPECT_LE(nodes.take_traffic()[FrameType::list_part], 60u) << "once an interval";
  EXPECT_EQ(nodes.keys(list)->code, Code::unavailable);
  EXPECT_EQ(sized(nodes, 0).code, Code::unavailable);
}

TEST(LyingOwners, AreNotHeardWhereTheyWereNotAsked) {
  HandDriven nodes(one_copy());
  std::uint64_t list_number = 0, size_number = 0;
  nodes.meddle([&](MemberIndex, MemberIndex to, PeerMessage& message) {
    if (const auto* ask = std::get_if<ListPart>(&message)) list_number = ask->id;
    if (const auto* ask = std::get_if<CountKeysPart>(&message); ask != nullptr && to == 1)
      size_number = ask->id;
    const bool answer = std::holds_alternative<ListedPart>(message) ||
                        std::holds_alternative<KeyCountPart>(message);
    return answer ? HandDriven::Fate::drop : HandDriven::Fate::deliver;
  });
  const std::uint32_t place = place_owned_by(nodes, 1);
  const std::uint64_t list = nodes.list(0, {.cursor = place});
  const std::uint64_t size = nodes.size(0);
  nodes.be_fair();
  nodes.forge(2, 0, ListedPart{list_number, {}, place + std::uint32_t{kLeaves}});
  nodes.forge(2, 0, KeyCountPart{size_number, Partitions::all(), 1});
  nodes.run();
  EXPECT_FALSE(nodes.keys(list));
  EXPECT_FALSE(nodes.sized(size));
}

TEST(ListThroughAnyNode, IsRefusedWhereTooManyWait) {
  HandDriven::Options options = one_copy();
  options.settings.pending_operations = 2;
  HandDriven nodes(options);
  const std::uint32_t place = place_owned_by(nodes, 1);
  nodes.crash(1);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(nodes.keys(nodes.list(0, {.cursor = place})));
  EXPECT_EQ(nodes.keys(nodes.list(0, {.cursor = place}))->code, Code::overloaded);
  EXPECT_EQ(nodes.keys(nodes.list(0, {.cursor = place_owned_by(nodes, 0)}))->code, Code::ok)
      << "what need not wait is answered";
  EXPECT_FALSE(nodes.core(0).quiet());
  nodes.pass(6s);
  EXPECT_TRUE(nodes.core(0).quiet());
}

TEST(ListThroughAnyNode, AsksForNoMoreThanMayArriveAtOnce) {
  HandDriven::Options options = one_copy();
  options.settings.pending_read_bytes = 10 * kMaxKey;
  HandDriven nodes(options);
  nodes.crash(1);
  const std::uint32_t place = place_owned_by(nodes, 1);
  EXPECT_EQ(nodes.keys(nodes.list(0, {.cursor = place, .limit = 11}))->code, Code::overloaded);
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(nodes.keys(nodes.list(0, {.cursor = place, .limit = 5})));
  EXPECT_EQ(nodes.keys(nodes.list(0, {.cursor = place, .limit = 1}))->code, Code::overloaded);
}

TEST(ListThroughAnyNode, IsRefusedByANodeThatDoesNotServeYet) {
  HandDriven nodes(HandDriven::Options{.nodes = 3, .start = false});
  nodes.start_all();
  const std::uint64_t list = nodes.list(0, {.cursor = 7});
  EXPECT_EQ(nodes.keys(list)->code, Code::unavailable);
  EXPECT_EQ(nodes.keys(list)->next, 7u);
  EXPECT_EQ(sized(nodes, 0).code, Code::unavailable);
}

}  // namespace
}  // namespace quipu::test
