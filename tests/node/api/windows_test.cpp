// What a counter counted in time, through a Node and through a Client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <numeric>

#include "tests/node/api/node_and_client.h"

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;
using testing::HasSubstr;

class WindowsTest : public NodeAndClientTest {
 protected:
  void define(const std::string& name) {
    const NamespacePolicy policy{.tiers = {{60s, 48h}, {1h, std::nullopt}}, .late = 1h};
    ASSERT_TRUE(counters().create_namespace({name, policy}).status.ok());
  }
};

INSTANTIATE_TEST_SUITE_P(, WindowsTest, kThroughBoth, name_of);

std::int64_t sum(const Range& range) {
  return std::accumulate(range.counts.begin(), range.counts.end(), std::int64_t{0});
}

// Between two questions, a minute may begin.
TEST_P(WindowsTest, ARangeTellsWhatWasAddedInEachStep) {
  define("hits");
  Counter home = counters().counter("hits:home");
  const auto now = system_clock::now();
  ASSERT_TRUE(home.add(2).ok());
  ASSERT_TRUE(home.add(5, {.at = now - 10min}).ok());
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const Result<Range> range = home.range(now - 11min, now + 2min, 60s, {.level = level});
    ASSERT_TRUE(range.ok()) << range.status().message();
    EXPECT_EQ(range->step, 60s);
    EXPECT_EQ(range->begin.time_since_epoch() % 60s, 0s);
    EXPECT_EQ(sum(*range), 7);
    const auto step = static_cast<std::size_t>((now - 10min - range->begin) / 60s);
    EXPECT_EQ(range->counts.at(step), 5);
    EXPECT_TRUE(range->complete);
    ASSERT_TRUE(range->settled_until.has_value());
    EXPECT_LT(*range->settled_until, now - 59min) << "adds may be an hour late";
  }
  EXPECT_EQ(home.read()->value, 7);
}

TEST_P(WindowsTest, ARangeOfElementsCountsEachOnceInAStep) {
  define("hits");
  Distinct visitors = counters().distinct("hits:home");
  const auto now = system_clock::now();
  for (const auto ago : {5min, 10min, 15min}) {
    ASSERT_TRUE(visitors.add("ann", {.at = now - ago}).ok());
    ASSERT_TRUE(visitors.add("at " + std::to_string(ago.count()), {.at = now - ago}).ok());
  }
  for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
    const Result<Range> minutes = visitors.range(now - 16min, now, 60s, {.level = level});
    ASSERT_TRUE(minutes.ok()) << minutes.status().message();
    EXPECT_EQ(sum(*minutes), 6);
    EXPECT_EQ(*std::ranges::max_element(minutes->counts), 2);
    EXPECT_TRUE(minutes->complete);
  }
  // Whatever time it is, some step of three days has them all.
  const auto days = visitors.range(now - 72h, now + 24h, 86'400s);
  ASSERT_TRUE(days.ok()) << days.status().message();
  EXPECT_THAT(sum(*days), testing::AnyOf(4, 5)) << "five, if midnight was meanwhile";
  EXPECT_EQ(sum(*visitors.range_async(now - 1h, now).get()), 6);
  EXPECT_EQ(sum(*visitors.last(1h)), 6);
  EXPECT_EQ(sum(*visitors.last_async(1h).get()), 6);
  std::promise<std::int64_t> told;
  visitors.last(1h, 60s, {},
                [&](const Result<Range>& range) { told.set_value(range.ok() ? sum(*range) : -1); });
  EXPECT_EQ(told.get_future().get(), 6);
  EXPECT_EQ(counters().counter("hits:home").last(1h).status().code(), Code::wrong_type);
}

TEST_P(WindowsTest, LastAndRateEndNow) {
  define("hits");
  Counter home = counters().counter("hits:home");
  ASSERT_TRUE(home.add(60, {.at = system_clock::now() - 5min}).ok());
  const Result<Range> last = home.last(10min);
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ(last->counts.size(), 10u);
  EXPECT_EQ(sum(*last), 60);
  EXPECT_EQ(sum(*home.last(20min, 600s)), 60) << "the present ten minutes, and those before";
  const Result<Rate> rate = home.rate(10min);
  ASSERT_TRUE(rate.ok()) << rate.status().message();
  EXPECT_DOUBLE_EQ(rate->per_second, 0.1);
  EXPECT_EQ(rate->span, 600s);
  EXPECT_LE(rate->begin + rate->span, system_clock::now());
  EXPECT_TRUE(rate->complete);
}

TEST_P(WindowsTest, EachFormAnswersTheSame) {
  define("hits");
  Counter home = counters().counter("hits:home");
  ASSERT_TRUE(home.add(3).ok());
  const auto now = system_clock::now();
  EXPECT_EQ(sum(*home.range_async(now - 1h, now + 1h).get()), 3);
  EXPECT_EQ(sum(*home.last_async(1h).get()), 3);
  EXPECT_TRUE(home.rate_async(1h).get().ok());
  std::promise<std::int64_t> told;
  home.range(now - 1h, now + 1h, {}, {},
             [&](const Result<Range>& range) { told.set_value(range.ok() ? sum(*range) : -1); });
  EXPECT_EQ(told.get_future().get(), 3);
}

TEST_P(WindowsTest, WhatHasNoAnswerSaysWhy) {
  define("hits");
  Counter home = counters().counter("hits:home");
  const auto why = [](const auto& result) { return std::string(result.status().detail()); };
  EXPECT_THAT(why(counters().counter("likes").last(1h)), HasSubstr("no tiers"));
  EXPECT_THAT(why(home.last(1h, 90s)), HasSubstr("multiple of the shortest"));
  EXPECT_THAT(why(home.last(0s)), HasSubstr("begins before it ends"));
  EXPECT_THAT(why(home.last(-1s)), HasSubstr("begins before it ends"));
  EXPECT_THAT(why(home.rate(std::chrono::seconds::max())), HasSubstr("at most 10,000"));
  const auto now = system_clock::now();
  EXPECT_THAT(why(home.range(now, now - 1s)), HasSubstr("begins before it ends"));
  EXPECT_THAT(
      why(home.range(system_clock::time_point::min(), system_clock::time_point::max(), 60s)),
      HasSubstr("at most 10,000"));
  EXPECT_EQ(home.add(1, {.at = now - 2h}).code(), Code::invalid_argument);
  EXPECT_EQ(home.add(1, {.at = system_clock::time_point::min()}).code(), Code::invalid_argument);
  EXPECT_EQ(home.add(1, {.at = system_clock::time_point::max()}).code(), Code::invalid_argument);
  EXPECT_EQ(counters().counter("likes").add(1, {.at = now}).code(), Code::invalid_argument);
  EXPECT_EQ(counters().counter(std::string(513, 'k')).last(1h).status().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace quipu::test
