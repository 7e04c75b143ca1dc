#include "cluster/reads/rollup_cache.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow{1h};
constexpr RoundId kRound{7};

ShardKey shard(int number) { return {"key:" + std::to_string(number), 0}; }

std::vector<ShardKey> shards(const std::vector<int>& numbers) {
  std::vector<ShardKey> all;
  for (const int number : numbers) all.push_back(shard(number));
  return all;
}

RollupCache holding(int count, std::size_t limit = 100) {
  RollupCache cache(limit, 100ms);
  for (int i = 0; i < count; ++i) {
    cache.on_asked(shard(i), kRound);
    cache.on_answered(kNow, shard(i), {});
  }
  return cache;
}

TEST(RollupCache, AsksAgainForWhatWasReadOnceInTheOrderOfReading) {
  RollupCache cache = holding(4);
  for (const int read : {3, 1, 3}) EXPECT_TRUE(cache.read(kNow, shard(read)));
  EXPECT_EQ(cache.take_due(), shards({3, 1}));
  EXPECT_EQ(cache.take_due(), shards({}));
  EXPECT_TRUE(cache.read(kNow, shard(3)));
  EXPECT_EQ(cache.take_due(), shards({3}));
}

TEST(RollupCache, DoesNotAskForWhatIsBeingAsked) {
  RollupCache cache = holding(2);
  (void)cache.read(kNow, shard(0));
  (void)cache.read(kNow, shard(1));
  cache.on_asked(shard(0), kRound);
  EXPECT_EQ(cache.take_due(), shards({1}));
  cache.on_answered(kNow, shard(0), {});
  EXPECT_EQ(cache.take_due(), shards({})) << "it was answered after it was read";
}

TEST(RollupCache, ForgetsTheLeastRecentlyAskedAndThatItWasRead) {
  RollupCache cache = holding(3, 3);
  (void)cache.read(kNow, shard(0));
  (void)cache.read(kNow, shard(2));
  cache.on_asked(shard(3), kRound);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_FALSE(cache.read(kNow, shard(0)));
  EXPECT_EQ(cache.take_due(), shards({2}));
}

TEST(RollupCache, TellsNothingThatIsTooOld) {
  RollupCache cache = holding(1);
  EXPECT_TRUE(cache.read(kNow + 300ms, shard(0)));
  EXPECT_FALSE(cache.read(kNow + 301ms, shard(0)));
  EXPECT_EQ(cache.take_due(), shards({0})) << "it is asked again all the same";
}

}  // namespace
}  // namespace quipu::test
