#include "cluster/reads/asked_cache.h"

#include <gtest/gtest.h>

#include "cluster/reads/question_cache.h"
#include "cluster/reads/rollup_cache.h"

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

// ---- answers to questions, whose room is in bytes ----

AskedQuestion about(int number, std::string words = {}) { return {{shard(number)}, words}; }

QuestionAnswer of_bytes(std::size_t bytes) { return {.reply = std::string(bytes, 'x')}; }

TEST(QuestionCache, TellsQuestionsApartByCountersAndWords) {
  QuestionCache cache(10'000, 100ms);
  cache.on_asked(about(1, "a"), kRound);
  cache.on_answered(kNow, about(1, "a"), of_bytes(7));
  ASSERT_TRUE(cache.read(kNow, about(1, "a")));
  EXPECT_EQ(cache.read(kNow, about(1, "a"))->reply.size(), 7u);
  EXPECT_FALSE(cache.read(kNow, about(1, "b")));
  EXPECT_FALSE(cache.read(kNow, about(2, "a")));
  EXPECT_FALSE(cache.read(kNow, {{shard(1), shard(2)}, "a"}));
}

TEST(QuestionCache, ForgetsOldAnswersForTheBytesOfANewOne) {
  QuestionCache cache(10'000, 100ms);
  for (int i = 0; i < 3; ++i) {
    cache.on_asked(about(i), kRound);
    cache.on_answered(kNow, about(i), of_bytes(2'000));
  }
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_GT(cache.used(), 6'000u);
  cache.on_answered(kNow, about(3), of_bytes(4'000));
  EXPECT_FALSE(cache.read(kNow, about(0)));
  EXPECT_TRUE(cache.read(kNow, about(3)));
  EXPECT_LE(cache.used(), 10'000u);
}

TEST(QuestionCache, DoesNotKeepAnAnswerThatIsLargerThanTheRoom) {
  QuestionCache cache(10'000, 100ms);
  cache.on_asked(about(1), kRound);
  cache.on_answered(kNow, about(1), of_bytes(10'001));
  EXPECT_FALSE(cache.read(kNow, about(1)));
  EXPECT_EQ(cache.used(), 0u);
}

TEST(QuestionCache, KeepsTheLastAnswerWhereARoundBringsNone) {
  QuestionCache cache(10'000, 100ms);
  cache.on_answered(kNow, about(1), of_bytes(1));
  cache.on_asked(about(1), kRound);
  EXPECT_EQ(cache.asking(about(1)), kRound);
  cache.on_unanswered(about(1));
  EXPECT_FALSE(cache.asking(about(1)));
  EXPECT_TRUE(cache.read(kNow + 300ms, about(1)));
  EXPECT_FALSE(cache.read(kNow + 301ms, about(1)));
}

}  // namespace
}  // namespace quipu::test
