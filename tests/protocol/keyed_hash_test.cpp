#include "protocol/keyed_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace quipu {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

struct Sum {
  Hash128 a, b, sum;
  friend void PrintTo(const Sum& one, std::ostream* os) {
    *os << one.sum.high << ":" << one.sum.low;
  }
};

class Hash128Sum : public testing::TestWithParam<Sum> {};

INSTANTIATE_TEST_SUITE_P(Carries, Hash128Sum,
                         testing::Values(Sum{{0, 0}, {0, 0}, {0, 0}},     //
                                         Sum{{1, 2}, {3, 4}, {4, 6}},     //
                                         Sum{{kMax, 0}, {1, 0}, {0, 1}},  //
                                         Sum{{kMax, 0}, {kMax, 0}, {kMax - 1, 1}},
                                         Sum{{kMax, kMax}, {1, 0}, {0, 0}},  //
                                         Sum{{0, kMax}, {0, 1}, {0, 0}},     //
                                         Sum{{kMax, kMax}, {kMax, kMax}, {kMax - 1, kMax}}));

TEST_P(Hash128Sum, carries_into_the_high_half) {
  Hash128 sum = GetParam().a;
  sum += GetParam().b;
  EXPECT_EQ(sum, GetParam().sum);
}

TEST_P(Hash128Sum, is_undone_by_subtraction) {
  Hash128 left = GetParam().sum;
  left -= GetParam().b;
  EXPECT_EQ(left, GetParam().a);
  Hash128 right = GetParam().sum;
  right -= GetParam().a;
  EXPECT_EQ(right, GetParam().b);
}

TEST(KeyedHash, differs_by_key_and_by_bytes) {
  EXPECT_NE(hash64(HashKey{1}, "a"), hash64(HashKey{2}, "a"));
  EXPECT_NE(hash64(HashKey{1}, "a"), hash64(HashKey{1}, "b"));
  EXPECT_NE(hash128(HashKey{1}, "a"), hash128(HashKey{2}, "a"));
}

// Partition and leaf stand in the keys of every store: these numbers are for ever.
struct Place {
  HashKey key;
  const char* counter;
  ShardIndex shard;
  std::uint64_t hash;
  std::uint16_t partition;
  int leaf;
  friend void PrintTo(const Place& one, std::ostream* os) {
    *os << one.counter << " " << one.shard;
  }
};

class KnownPlacement : public testing::TestWithParam<Place> {};

INSTANTIATE_TEST_SUITE_P(
    ForEver, KnownPlacement,
    testing::Values(Place{HashKey{0x0}, "likes:42", 0, 0x65c319dcd7f763bd, 1628, 49},
                    Place{HashKey{0x0}, "likes:42", 1, 0x9169723650f957a2, 2326, 151},
                    Place{HashKey{0x1234567890abcdef}, "likes:42", 0, 0x3b92be66528b9b17, 953, 43},
                    Place{HashKey{0x1234567890abcdef}, "likes:42", 1023, 0x3319a72f3d241999, 817,
                          154},
                    Place{HashKey{0xffffffffffffffff}, "k", 0, 0x49f2277bffde3652, 1183, 34}));

TEST_P(KnownPlacement, never_changes) {
  const Placement placement(GetParam().key, {GetParam().counter, GetParam().shard});
  EXPECT_EQ(placement.hash, GetParam().hash);
  EXPECT_EQ(raw(placement.partition()), GetParam().partition);
  EXPECT_EQ(placement.leaf(), GetParam().leaf);
}

TEST(Placement, cuts_the_hash_at_its_documented_bits) {
  const Placement placement(0xabcde12345678900U);
  EXPECT_EQ(raw(placement.partition()), 0xabc);
  EXPECT_EQ(placement.leaf(), 0xde);
}

// Else one busy counter would burden one node, however many shards it has.
TEST(Placement, spreads_the_shards_of_one_counter) {
  std::vector<Partition> seen;
  for (ShardIndex shard = 0; shard < 64; ++shard) {
    seen.push_back(Placement(HashKey{9}, {"likes:42", shard}).partition());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_GT(std::unique(seen.begin(), seen.end()) - seen.begin(), 60);
}

}  // namespace
}  // namespace quipu
