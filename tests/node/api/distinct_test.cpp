// Counters of different elements, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::system_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::Le;
using testing::Optional;

class DistinctTest : public NodeAndClientTest {
 protected:
  Distinct visitors_of(const std::string& key, const std::vector<std::string_view>& elements) {
    Distinct visitors = counters().distinct(key);
    const Status added = visitors.add_many(elements);
    EXPECT_TRUE(added.ok()) << added.message();
    return visitors;
  }
};

INSTANTIATE_TEST_SUITE_P(, DistinctTest, kThroughBoth, name_of);

std::uint64_t estimate(const Result<DistinctReading>& reading) {
  EXPECT_TRUE(reading.ok()) << reading.status().message();
  return reading.ok() ? reading->estimate : 0;
}

TEST_P(DistinctTest, AnElementCountsOnceHoweverOftenItComes) {
  Distinct visitors = counters().distinct("visitors");
  EXPECT_EQ(visitors.key(), "visitors");
  for (const std::string_view element : {"ann", "bob", "ann", "", "ann", "\n"})
    ASSERT_TRUE(visitors.add(element).ok());
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const Result<DistinctReading> reading = visitors.count({.level = level});
    EXPECT_EQ(estimate(reading), 4u);
    EXPECT_TRUE(reading->exists && reading->complete);
    EXPECT_EQ(reading->expires_in, std::nullopt);
    EXPECT_TRUE(reading->age.has_value());
  }
}

TEST_P(DistinctTest, ACounterThatWasNeverAddedToHasNoElements) {
  const Result<DistinctReading> reading = counters().distinct("visitors").count();
  EXPECT_EQ(estimate(reading), 0u);
  EXPECT_FALSE(reading->exists);
}

TEST_P(DistinctTest, AnAddOfNoElementsBeginsTheCounter) {
  const Result<DistinctReading> reading = visitors_of("visitors", {}).count();
  EXPECT_EQ(estimate(reading), 0u);
  EXPECT_TRUE(reading->exists);
}

TEST_P(DistinctTest, AnAddManyHasALimit) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i <= kMaxElements; ++i) texts.push_back(std::to_string(i));
  const std::vector<std::string_view> elements(texts.begin(), texts.end());
  Distinct visitors = counters().distinct("visitors");
  EXPECT_EQ(visitors.add_many(elements).code(), Code::invalid_argument);
  EXPECT_EQ(visitors.add_many_async(elements).get().code(), Code::invalid_argument);
  EXPECT_FALSE(visitors.count()->exists) << "a refused call changes nothing";
  ASSERT_TRUE(visitors.add_many(std::span(elements).first(kMaxElements)).ok());
  const auto most = static_cast<double>(kMaxElements);
  EXPECT_NEAR(static_cast<double>(estimate(visitors.count())), most, 4 * 0.0081 * most);
}

TEST_P(DistinctTest, SeveralCountersAreCountedTogether) {
  visitors_of("monday", {"ann", "bob"});
  visitors_of("tuesday", {"bob", "eve"});
  EXPECT_EQ(estimate(counters().count_distinct({"monday", "tuesday", "sunday", "monday"})), 3u);
  EXPECT_EQ(estimate(counters().count_distinct_async({"monday"}).get()), 2u);
  const std::vector<std::string> kNone, kEmpty{""}, kTooMany(kMaxBatch + 1, "monday");
  for (const auto& keys : {kNone, kEmpty, kTooMany})
    EXPECT_EQ(counters().count_distinct(keys).status().code(), Code::invalid_argument);
}

TEST_P(DistinctTest, AMergeTakesTheElementsOfOthersAndLeavesThemAlone) {
  visitors_of("monday", {"ann", "bob"});
  visitors_of("tuesday", {"bob", "eve"});
  Distinct week = visitors_of("week", {"zoe"});
  const std::vector<std::string> days{"monday", "tuesday", "sunday"};
  ASSERT_TRUE(week.merge_from(days).ok());
  EXPECT_EQ(estimate(week.count()), 4u);
  EXPECT_EQ(estimate(counters().distinct("monday").count()), 2u);
  Distinct none = counters().distinct("none");
  ASSERT_TRUE(none.merge_from_async(std::vector<std::string>{"sunday"}).get().ok());
  EXPECT_TRUE(none.count()->exists);
  EXPECT_EQ(none.merge_from({}).code(), Code::invalid_argument);
}

TEST_P(DistinctTest, AMergeFromASumIsRefused) {
  ASSERT_TRUE(counters().counter("likes").add(1).ok());
  Distinct week = visitors_of("week", {"zoe"});
  EXPECT_EQ(week.merge_from(std::vector<std::string>{"likes"}).code(), Code::wrong_type);
  EXPECT_EQ(estimate(week.count()), 1u);
}

TEST_P(DistinctTest, AKeyHasACounterOfOneKind) {
  visitors_of("visitors", {"ann"});
  Counter as_sum = counters().counter("visitors");
  EXPECT_EQ(as_sum.add(1).code(), Code::wrong_type);
  EXPECT_EQ(as_sum.add_and_read(1).status().code(), Code::wrong_type);
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong})
    EXPECT_EQ(as_sum.read({.level = level}).status().code(), Code::wrong_type);
  ASSERT_TRUE(counters().counter("likes").add(1).ok());
  Distinct as_distinct = counters().distinct("likes");
  EXPECT_EQ(as_distinct.add("ann").code(), Code::wrong_type);
  EXPECT_EQ(as_distinct.count().status().code(), Code::wrong_type);
  const auto readings = counters().read_many({"likes", "visitors"});
  EXPECT_EQ(readings[0]->value, 1) << "the others are read";
  EXPECT_EQ(readings[1].status().code(), Code::wrong_type);
}

TEST_P(DistinctTest, AResetEndsTheCounter) {
  Distinct visitors = visitors_of("visitors", {"ann"});
  ASSERT_TRUE(visitors.reset().ok());
  EXPECT_FALSE(visitors.count()->exists);
  ASSERT_TRUE(visitors.add("bob").ok());
  EXPECT_EQ(estimate(visitors.count()), 1u);
}

// Then the key is free for a counter of another kind.
TEST_P(DistinctTest, AResetOfASumResetsACounterOfAnyKind) {
  for (const Ack ack : {Ack::disk, Ack::quorum}) {
    const std::string key = ack == Ack::disk ? "disk" : "quorum";
    Distinct visitors = visitors_of(key, {"ann"});
    Counter as_sum = counters().counter(key);
    const Status reset = as_sum.reset({.ack = ack});
    ASSERT_TRUE(reset.ok()) << reset.message();
    EXPECT_FALSE(visitors.count()->exists);
    ASSERT_TRUE(as_sum.add(3).ok());
    EXPECT_EQ(as_sum.read()->value, 3);
    EXPECT_EQ(visitors.add("bob").code(), Code::wrong_type);
  }
}

TEST_P(DistinctTest, ACounterEnds) {
  Distinct visitors = counters().distinct("visitors");
  ASSERT_TRUE(visitors.add("ann", {.ttl = 1h}).ok());
  EXPECT_THAT(visitors.count()->expires_in, Optional(AllOf(Gt(0ms), Le(milliseconds(1h)))));
  ASSERT_TRUE(visitors.persist().ok());
  EXPECT_EQ(visitors.count()->expires_in, std::nullopt);
  ASSERT_TRUE(visitors.expire_at(system_clock::now() + 24h).ok());
  EXPECT_THAT(visitors.count()->expires_in, Optional(Gt(milliseconds(23h))));
  ASSERT_TRUE(visitors.expire_at(system_clock::now() - 1s).ok());
  EXPECT_FALSE(visitors.count()->exists);
}

TEST_P(DistinctTest, AllLevelsOfAddsAreTaken) {
  Distinct visitors = counters().distinct("visitors");
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum})
    EXPECT_TRUE(visitors.add("ann", {.ack = ack}).ok());
  EXPECT_EQ(estimate(visitors.count()), 1u);
}

TEST_P(DistinctTest, CallsHaveAllForms) {
  Distinct visitors = counters().distinct("visitors");
  ASSERT_TRUE(visitors.add_async("ann").get().ok());
  std::promise<std::uint64_t> told;
  // Also in a callback, where the form that waits would answer would_deadlock.
  visitors.add("bob", {}, [&, visitors](const Status& added) mutable {
    EXPECT_TRUE(added.ok()) << added.message();
    EXPECT_EQ(visitors.add("eve").code(), Code::would_deadlock);
    EXPECT_EQ(visitors.count().status().code(), Code::would_deadlock);
    EXPECT_EQ(visitors.merge_from(std::vector<std::string>{"x"}).code(), Code::would_deadlock);
    visitors.count(
        {}, [&](const Result<DistinctReading>& reading) { told.set_value(estimate(reading)); });
  });
  EXPECT_EQ(told.get_future().get(), 2u);
  EXPECT_EQ(estimate(visitors.count_async().get()), 2u);
}

TEST_P(DistinctTest, ADistinctOutlivesItsNodeOrClient) {
  Distinct visitors = visitors_of("visitors", {"ann"});
  client_.reset();
  node_.reset();
  EXPECT_EQ(visitors.add("bob").outcome(), Outcome::not_applied);
  EXPECT_EQ(visitors.count().status().code(), Code::unavailable);
}

TEST_P(DistinctTest, AListHasCountersOfEachKind) {
  visitors_of("visitors", {"ann"});
  std::vector<std::string> keys;
  for (ListOptions options; options.cursor != ListCursor::end;) {
    ListPage page = counters().list(options);
    ASSERT_TRUE(page.status.ok()) << page.status.message();
    keys.insert(keys.end(), page.keys.begin(), page.keys.end());
    options.cursor = page.next;
  }
  EXPECT_THAT(keys, ElementsAre("visitors"));
}

// Each node hashes an element alike.
TEST(DistinctInACluster, AllMembersCountAnElementAlike) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  for (const auto& node : nodes) {
    const Status added = node->distinct("visitors").add("ann", {.ack = Ack::quorum});
    ASSERT_TRUE(added.ok()) << added.message();
  }
  for (const auto& node : nodes)
    EXPECT_EQ(estimate(node->distinct("visitors").count({.level = ReadLevel::strong})), 1u);
}

// A client finds out which kind a counter has, on whichever node it is.
TEST(DistinctInACluster, AnyMemberResetsACounterOfAnyKind) {
  const TemporaryDirectory directory;
  const Nodes nodes = open_all(cluster_of(3, directory / "data"));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Distinct visitors = nodes[i]->distinct("visitors" + std::to_string(i));
    ASSERT_TRUE(visitors.add("ann", {.ack = Ack::quorum}).ok());
    const Status reset =
        nodes[(i + 1) % nodes.size()]->counter(visitors.key()).reset({.ack = Ack::quorum});
    ASSERT_TRUE(reset.ok()) << reset.message();
    const Result<DistinctReading> left = visitors.count({.level = ReadLevel::strong});
    ASSERT_TRUE(left.ok()) << left.status().message();
    EXPECT_FALSE(left->exists);
  }
}

}  // namespace
}  // namespace quipu::test
