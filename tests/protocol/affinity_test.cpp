#include "protocol/affinity.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace quipu {
namespace {

Placement first_of(std::string_view key) { return {HashKey{42}, {key, 0}}; }

TEST(Affinity, of_no_name_is_none_and_of_a_name_never) {
  EXPECT_EQ(affinity_of(""), Affinity{});
  for (int i = 0; i < 1000; ++i) EXPECT_NE(affinity_of(std::to_string(i)), Affinity{});
  EXPECT_NE(affinity_of(std::string_view("\0", 1)), Affinity{});
}

// Clients in other languages work these out, and programs of two versions must agree.
TEST(Affinity, numbers_and_shards_are_for_ever) {
  EXPECT_EQ(affinity_of("user:17"), Affinity{0x70d4be0d2e04ed42U});
  EXPECT_EQ(shard_for(affinity_of("user:17"), first_of("likes:42"), 8), 1);
  EXPECT_EQ(shard_for(Affinity{1}, first_of("likes:42"), 1024), 606);
}

TEST(Affinity, of_a_counter_that_is_not_spread_is_shard_0) {
  for (std::uint64_t i = 1; i < 100; ++i)
    EXPECT_EQ(shard_for(Affinity{i}, first_of("likes:42"), 1), 0);
}

TEST(Affinity, spreads_clients_evenly_over_the_shards) {
  for (const ShardIndex usable : std::initializer_list<ShardIndex>{2, 3, 8, 100}) {
    std::vector<int> clients(usable);
    const int all = usable * 1000;
    for (int i = 0; i < all; ++i)
      ++clients[shard_for(affinity_of("user:" + std::to_string(i)), first_of("likes:42"), usable)];
    for (const int here : clients) EXPECT_NEAR(here, 1000, 200) << usable;
  }
}

TEST(Affinity, spreads_a_client_over_shards_by_the_counter) {
  std::set<ShardIndex> shards;
  for (int i = 0; i < 200; ++i)
    shards.insert(shard_for(affinity_of("user:17"), first_of(std::to_string(i)), 8));
  EXPECT_EQ(shards.size(), 8u);
}

// From n shards to m × n, shard s gives clients away to s + n, s + 2n, … alone.
TEST(Affinity, a_multiple_of_the_shards_moves_clients_to_new_ones_only) {
  for (std::uint64_t i = 1; i < 1000; ++i) {
    const ShardIndex before = shard_for(Affinity{i}, first_of("likes:42"), 4);
    const ShardIndex after = shard_for(Affinity{i}, first_of("likes:42"), 12);
    EXPECT_EQ(after % 4, before);
  }
}

}  // namespace
}  // namespace quipu
