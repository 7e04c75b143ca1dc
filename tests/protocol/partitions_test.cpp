#include "protocol/partitions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace quipu::test {
namespace {

std::vector<int> list(const Partitions& some) {
  std::vector<int> all;
  for (const Partition partition : some) all.push_back(raw(partition));
  return all;
}

TEST(Partitions, has_none_at_first) {
  EXPECT_EQ(list({}), std::vector<int>{});
  EXPECT_EQ(Partitions{}.next(0), kPartitions);
}

TEST(Partitions, lists_the_edges_of_words_in_order) {
  Partitions some;
  const std::vector<int> edges{0, 1, 63, 64, 127, 128, 4031, 4032, 4095};
  for (auto at = edges.rbegin(); at != edges.rend(); ++at)
    some.insert(Partition{static_cast<std::uint16_t>(*at)});
  EXPECT_EQ(list(some), edges);
  EXPECT_EQ(some.next(65), 127u);
  EXPECT_EQ(some.next(4095), 4095u);
  EXPECT_EQ(some.next(4096), kPartitions);
}

TEST(Partitions, are_bits_of_bytes) {
  Partitions some;
  for (const int p : {0, 9, 4095}) some.insert(Partition{static_cast<std::uint16_t>(p)});
  std::string bytes(Partitions::kBytes, '\0');
  bytes[0] = '\x01';
  bytes[1] = '\x02';
  bytes[511] = '\x80';
  EXPECT_EQ(some.bytes(), bytes);
}

TEST(Partitions, without_others_is_what_they_lack) {
  Partitions others = Partitions::all();
  EXPECT_TRUE(others.without(Partitions::all()).empty());
  for (const int p : {7, 64}) others.erase(Partition{static_cast<std::uint16_t>(p)});
  EXPECT_EQ(list(Partitions::all().without(others)), (std::vector<int>{7, 64}));
}

RC_GTEST_PROP(Partitions, is_what_was_inserted_and_not_erased, ()) {
  Partitions some;
  std::set<int> model;
  for (const auto& [number, in] :
       *rc::gen::arbitrary<std::vector<std::pair<std::uint16_t, bool>>>()) {
    const Partition partition{static_cast<std::uint16_t>(number % kPartitions)};
    if (in) {
      some.insert(partition);
      model.insert(raw(partition));
    } else {
      some.erase(partition);
      model.erase(raw(partition));
    }
    RC_ASSERT(some.contains(partition) == in);
  }
  RC_ASSERT(list(some) == std::vector<int>(model.begin(), model.end()));
  RC_ASSERT(some.empty() == model.empty());
  RC_ASSERT(Partitions::from_bytes(some.bytes()) == some);
}

}  // namespace
}  // namespace quipu::test
