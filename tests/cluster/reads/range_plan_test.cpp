// Which windows answer a question about a range of time.
#include "cluster/reads/range_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace quipu {
namespace {

using namespace std::chrono_literals;

Wall at(std::chrono::seconds since_1970) { return Wall{since_1970}; }

NamespaceDefinition defined(std::vector<Tier> tiers) {
  return {.name = "hits", .policy = {.tiers = std::move(tiers)}};
}
const NamespaceDefinition kHits = defined({{60s, 48h}, {1h, 24h * 90}, {24h, {}}});
// A day, at 10:41:37.
constexpr std::chrono::seconds kDay = 24h * 20'000;
const Wall kNow = at(kDay + 10h + 41min + 37s);

RangePlan plan(RangeRequest request, Wall now = kNow) {
  const auto made = plan_range(kHits, request, now);
  EXPECT_TRUE(made.ok()) << made.status().detail();
  return made.ok() ? *made : RangePlan{};
}

std::string why_not(RangeRequest request, const NamespaceDefinition& hits = kHits) {
  return std::string(plan_range(hits, request, kNow).status().detail());
}

std::vector<std::chrono::seconds> tiers(const RangePlan& plan) {
  std::vector<std::chrono::seconds> all;
  for (const RangePlan::Part& part : plan.parts) all.push_back(part.tier);
  return all;
}

TEST(RangePlan, of_the_last_hour_in_minutes_has_sixty_of_them_with_the_present_one) {
  const RangePlan hour = plan({.last = 1h, .step = 60s});
  EXPECT_EQ(hour.begin, at(kDay + 9h + 42min));
  EXPECT_EQ(hour.counts, 60u);
  EXPECT_EQ(hour.parts.size(), 60u);
  EXPECT_TRUE(hour.covered);
}

TEST(RangePlan, takes_long_windows_in_the_middle_and_short_ones_at_the_edges) {
  const RangePlan whole = plan({.from = at(kDay - 2h - 1min), .to = at(kDay + 61min), .step = 60s});
  EXPECT_EQ(whole.parts.size(), 182u) << "each step is a minute";
  const RangePlan step = plan({.from = at(kDay - 90min), .to = at(kDay + 90min), .step = 5400s});
  EXPECT_EQ(step.counts, 2u);
  std::vector<std::chrono::seconds> expected(30, 60s);
  expected.push_back(1h);
  expected.push_back(1h);
  expected.insert(expected.end(), 30, 60s);
  EXPECT_EQ(tiers(step), expected);
  EXPECT_EQ(tiers(plan({.from = at(kDay), .to = at(kDay + 24h), .step = 24h})),
            (std::vector<std::chrono::seconds>{24h}));
}

TEST(RangePlan, begins_and_ends_with_whole_steps) {
  const RangePlan one = plan({.from = at(kDay + 61s), .to = at(kDay + 62s), .step = 60s});
  EXPECT_EQ(one.begin, at(kDay + 60s));
  EXPECT_EQ(one.counts, 1u);
  const RangePlan exact = plan({.from = at(kDay), .to = at(kDay + 60s), .step = 60s});
  EXPECT_EQ(exact.counts, 1u);
}

TEST(RangePlan, reads_no_windows_of_the_future) {
  const RangePlan day = plan({.from = at(kDay), .to = at(kDay + 24h), .step = 60s});
  EXPECT_EQ(day.counts, 1440u);
  EXPECT_EQ(day.parts.size(), 642u);
  EXPECT_TRUE(day.covered);
}

TEST(RangePlan, of_the_past_alone_ends_with_a_step_that_is_over) {
  const RangePlan past = plan({.last = 10min, .only_past = true});
  EXPECT_EQ(past.begin, at(kDay + 10h + 31min));
  EXPECT_EQ(past.counts, 10u);
  EXPECT_EQ(plan({.last = 30s, .only_past = true}).counts, 1u) << "a whole step";
}

TEST(RangePlan, uses_the_shortest_steps_that_are_kept_for_all_of_it) {
  EXPECT_EQ(plan({.last = 1h}).step, 60s);
  EXPECT_EQ(plan({.last = 47h}).step, 60s);
  EXPECT_EQ(plan({.last = 49h}).step, 1h);
  EXPECT_EQ(plan({.last = 24h * 91}).step, 24h);
  EXPECT_EQ(plan({.from = {}, .to = at(1h)}).step, 24h);
}

TEST(RangePlan, says_when_windows_are_no_longer_kept) {
  const RangePlan old = plan({.from = at(kDay - 72h), .to = at(kDay - 70h), .step = 60s});
  EXPECT_FALSE(old.covered);
  EXPECT_TRUE(old.parts.empty());
  EXPECT_EQ(old.counts, 120u);
  // A window is kept for as long after its end.
  const Wall last = at(kDay + 10h + 41min) - 48h;
  EXPECT_TRUE(plan({.from = last, .to = last + 60s, .step = 60s}).covered);
  EXPECT_FALSE(plan({.from = last - 60s, .to = last, .step = 60s}).covered);
}

// A tier that came later lacks what was counted before.
TEST(RangePlan, uses_the_shorter_windows_where_a_longer_tier_was_not_there_yet) {
  NamespaceDefinition hits = defined({{60s, 48h}, {1h, {}}});
  const auto ms = [](Wall time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  };
  hits.counted_from = ms(at(kDay + 1h));
  hits.whole_from = {hits.counted_from, ms(at(kDay + 3h + 30min))};
  const RangeRequest hours{.from = at(kDay), .to = at(kDay + 6h), .step = 1h};
  const auto plan = plan_range(hits, hours, kNow);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->covered);
  std::vector<std::chrono::seconds> expected{1h};  // nothing was counted yet
  expected.insert(expected.end(), 3 * 60, 60s);
  expected.insert(expected.end(), {1h, 1h});
  EXPECT_EQ(tiers(*plan), expected);
  const auto later = plan_range(hits, hours, kNow + 72h);
  EXPECT_FALSE(later->covered) << "the minutes are gone";
  EXPECT_EQ(later->parts.size(), 6u) << "the answer has every window that is held";
}

TEST(RangePlan, of_a_long_time_without_windows_is_made_at_once) {
  const NamespaceDefinition seconds = defined({{1s, 1h}});
  const auto plan = plan_range(seconds, {.from = {}, .to = kNow, .step = 1'000'000'000s}, kNow);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->covered);
  EXPECT_LE(plan->parts.size(), 3601u);
}

TEST(RangePlan, says_what_is_wrong_with_a_question) {
  EXPECT_EQ(why_not({.last = 1h}, {}),
            "the counter's namespace has no tiers, so nothing is counted by time: quipu namespace "
            "set --tiers");
  EXPECT_EQ(why_not({.from = at(60s), .to = at(60s)}), "a range begins before it ends");
  EXPECT_EQ(why_not({}), "a range begins before it ends");
  EXPECT_EQ(why_not({.last = 1h, .step = 90s}),
            "a step is a multiple of the shortest windows of the counter's namespace, 60 s");
  const std::string too_many =
      "a range has at most 10,000 steps and windows: ask for longer steps, or for less time";
  EXPECT_EQ(why_not({.last = 60s * 10'001, .step = 60s}), too_many);
  EXPECT_EQ(why_not({.from = at(kDay + 30s), .to = at(kDay + 30s + 60s * 10'000), .step = 60s}),
            too_many)
      << "rounded, these are 10,001";
  EXPECT_EQ(why_not({.from = {}, .to = kLatestDate, .step = 60s}), too_many);
  EXPECT_EQ(why_not({.from = at(kDay - 9h * 10'000 / 60), .to = at(kDay), .step = 9h * 60}), "");
}

// Any answer is of disjoint windows that fill their steps, in order.
RC_GTEST_PROP(RangePlan, fills_each_step_with_windows_that_do_not_overlap, ()) {
  const NamespaceDefinition forever = defined({{60s, {}}, {300s, {}}, {3600s, {}}});
  const auto from = *rc::gen::inRange<std::int64_t>(0, 100'000);
  const auto length = *rc::gen::inRange<std::int64_t>(1, 100'000);
  const auto step = 60s * *rc::gen::inRange<std::int64_t>(1, 200);
  const Wall now = at(std::chrono::seconds(*rc::gen::inRange<std::int64_t>(0, 200'000)));
  const auto plan = plan_range(forever,
                               {.from = at(std::chrono::seconds(from)),
                                .to = at(std::chrono::seconds(from + length)),
                                .step = step},
                               now);
  RC_ASSERT(plan.ok());
  Wall next = plan->begin;
  for (const RangePlan::Part& part : plan->parts) {
    RC_ASSERT(part.at == next);
    RC_ASSERT(part.at.time_since_epoch() % part.tier == Wall::duration(0));
    const Wall begin = plan->begin + step * static_cast<std::int64_t>(part.count);
    RC_ASSERT(part.at >= begin && part.at + part.tier <= begin + step);
    next += part.tier;
  }
  const Wall end = plan->begin + step * static_cast<std::int64_t>(plan->counts);
  RC_ASSERT(next >= std::min(end, now));
  RC_ASSERT(plan->begin <= at(std::chrono::seconds(from)));
  RC_ASSERT(end >= at(std::chrono::seconds(from + length)));
}

}  // namespace
}  // namespace quipu
