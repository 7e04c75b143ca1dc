// Counters of frequencies, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Items = std::vector<std::string_view>;

class FrequencyTest : public NodeAndClientTest {
 protected:
  std::vector<std::uint64_t> counts(const std::string& key, const Items& items,
                                    ReadLevel level = ReadLevel::fresh) {
    const auto reading = counters().frequency(key).query(items, {.level = level});
    EXPECT_TRUE(reading.ok()) << reading.status().message();
    return reading.ok() ? reading->counts : std::vector<std::uint64_t>();
  }
};

INSTANTIATE_TEST_SUITE_P(, FrequencyTest, kThroughBoth, name_of);

TEST_P(FrequencyTest, TellsHowOftenEachItemCameAndHowExactThatIs) {
  Frequency queries = counters().frequency("queries");
  ASSERT_TRUE(queries.add("ann").ok());
  ASSERT_TRUE(queries.add("ann", 2).ok());
  ASSERT_TRUE(queries.add_async("", 7).get().ok());
  const std::vector<ItemCount> many{{"bob", 5}, {"ann"}, {"eve", 0}};
  ASSERT_TRUE(queries.add_many(many).ok());
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong})
    EXPECT_THAT(counts("queries", {"ann", "bob", "eve", ""}, level), ElementsAre(4, 5, 0, 7));
  const Items items{"ann"};
  const Result<FrequencyReading> reading = queries.query_async(items).get();
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->bound, 1u) << "e / 2000 of 16, rounded up";
  EXPECT_NEAR(reading->confidence, 0.99909, 0.00001);
  EXPECT_TRUE(reading->exists && reading->complete);
}

TEST_P(FrequencyTest, ACounterThatWasNeverAddedToHasCountedNothing) {
  const Items items{"ann"};
  const Result<FrequencyReading> reading = counters().frequency("queries").query(items);
  ASSERT_TRUE(reading.ok());
  EXPECT_FALSE(reading->exists);
  EXPECT_THAT(reading->counts, ElementsAre(0));
  EXPECT_EQ(reading->bound, 0u);
}

TEST_P(FrequencyTest, ACounterMayBeBegunWithASize) {
  Frequency queries = counters().frequency("queries");
  EXPECT_EQ(queries.begin({600'000, 2}).code(), Code::out_of_range);
  ASSERT_TRUE(queries.begin({100, 2}).ok());
  ASSERT_TRUE(queries.begin({200, 3}).ok()) << "it exists";
  ASSERT_TRUE(queries.add("ann", 1000).ok());
  const Items items{"ann"};
  const Result<FrequencyReading> reading = queries.query(items);
  EXPECT_EQ(reading->bound, 28u);
  EXPECT_NEAR(reading->confidence, 0.8647, 0.0001);
}

TEST_P(FrequencyTest, ACallHasALimit) {
  Frequency queries = counters().frequency("queries");
  const std::vector<ItemCount> many(kMaxItems + 1, ItemCount{"ann"});
  EXPECT_EQ(queries.add_many(many).code(), Code::invalid_argument);
  const Items items(kMaxItems + 1, "ann"), none;
  EXPECT_EQ(queries.query(items).status().code(), Code::invalid_argument);
  EXPECT_EQ(queries.query(none).status().code(), Code::invalid_argument);
  EXPECT_EQ(queries.add("ann", std::uint64_t{1} << 63).code(), Code::out_of_range);
  EXPECT_THAT(counts("queries", {"ann"}), ElementsAre(0));
  ASSERT_TRUE(queries.add_many(std::span(many).first(kMaxItems)).ok());
  EXPECT_THAT(counts("queries", {"ann"}), ElementsAre(kMaxItems));
}

TEST_P(FrequencyTest, AKeyHasACounterOfOneKind) {
  ASSERT_TRUE(counters().counter("likes").add(1).ok());
  EXPECT_EQ(counters().frequency("likes").add("ann").code(), Code::wrong_type);
  const Items items{"ann"};
  EXPECT_EQ(counters().frequency("likes").query(items).status().code(), Code::wrong_type);
}

TEST_P(FrequencyTest, AResetEndsIt) {
  Frequency queries = counters().frequency("queries");
  ASSERT_TRUE(queries.add("ann").ok());
  ASSERT_TRUE(queries.reset().ok());
  EXPECT_THAT(counts("queries", {"ann"}), ElementsAre(0));
  ASSERT_TRUE(queries.add("ann").ok());
  EXPECT_THAT(counts("queries", {"ann"}), ElementsAre(1));
}

}  // namespace
}  // namespace quipu::test
