// What `list` tells of the counters that a node owns: all of them, in bounded steps.
#include <gtest/gtest.h>

#include <map>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

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

}  // namespace
}  // namespace quipu::test
