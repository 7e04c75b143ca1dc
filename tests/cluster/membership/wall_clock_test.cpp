// When a node trusts its wall clock, alone and against what others say.
#include "cluster/membership/wall_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/hand_driven.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;

constexpr Wall kNoon{std::chrono::milliseconds(1'700'000'000'000)};
constexpr Instant kStart{std::chrono::hours(7)};

// A clock among these members, the first of which it is itself. All clocks run alike; each is
// ahead of the right time by what is set.
class Clocks {
 public:
  explicit Clocks(std::size_t members, Duration ahead = {})
      : ahead_(ahead), clock(kStart, wall(ahead), {others(members), 1s, 100ms}) {}

  void pass(Duration time) {
    now += time;
    clock.set(now, wall(ahead_));
  }
  void set(Duration ahead) {
    ahead_ = ahead;
    clock.set(now, wall(ahead));
  }
  // A heartbeat that took this long, and so did the one that it answers.
  void hear(MemberIndex member, Duration ahead, Duration each_way = 1ms) {
    clock.on_heartbeat(now, member, wall(ahead - each_way), 2 * each_way);
  }
  [[nodiscard]] Wall wall(Duration ahead) const {
    return kNoon + std::chrono::floor<Wall::duration>(now - kStart + ahead);
  }

 private:
  static std::vector<bool> others(std::size_t members) {
    std::vector<bool> others(members, true);
    others[0] = false;
    return others;
  }
  Duration ahead_;

 public:
  Instant now = kStart;
  WallClock clock;
};

TEST(WallClock, is_trusted_where_there_is_no_other) {
  Clocks t(1);
  EXPECT_TRUE(t.clock.trusted());
  t.set(1h);
  t.pass(20s);
  EXPECT_TRUE(t.clock.trusted());
  EXPECT_FALSE(t.clock.ahead());
}

TEST(WallClock, is_not_trusted_before_it_was_compared) {
  Clocks t(3);
  t.pass(1min);
  EXPECT_FALSE(t.clock.trusted());
  EXPECT_THAT(t.clock.doubt(), HasSubstr("not compared"));
  t.hear(1, 100ms);
  EXPECT_TRUE(t.clock.trusted());
  EXPECT_EQ(t.clock.ahead(), -50ms);
  EXPECT_EQ(t.clock.offset(t.now, 1), 100ms);
  EXPECT_FALSE(t.clock.offset(t.now, 2));
}

TEST(WallClock, is_trusted_within_the_skew_of_the_median) {
  Clocks t(5);
  const auto median = [&](Duration a, Duration b, Duration c, Duration d) {
    t.hear(1, a), t.hear(2, b), t.hear(3, c), t.hear(4, d);
    return -*t.clock.ahead();
  };
  EXPECT_EQ(median(1h, -1h, 200ms, -100ms), 0ms) << "two of five clocks are nonsense";
  EXPECT_TRUE(t.clock.trusted());
  EXPECT_EQ(median(1s, 1s, 1h, 1h), 1s);
  EXPECT_TRUE(t.clock.trusted()) << "just within";
  EXPECT_EQ(median(1001ms, 1001ms, 1001ms, 1001ms), 1001ms);
  EXPECT_FALSE(t.clock.trusted());
  EXPECT_THAT(t.clock.doubt(), HasSubstr("1001 ms behind"));
  EXPECT_EQ(median(-20min, -20min, -20min, 0s), -20min);
  EXPECT_THAT(t.clock.doubt(), HasSubstr("1200 s ahead of"));
}

TEST(WallClock, takes_the_mean_of_the_middle_two_of_an_even_number) {
  Clocks t(4);
  t.hear(1, 400ms), t.hear(2, 100ms), t.hear(3, 10s);
  EXPECT_EQ(t.clock.ahead(), -250ms);
}

TEST(WallClock, knows_that_messages_take_time) {
  Clocks t(2);
  t.hear(1, 600ms, 400ms);
  EXPECT_EQ(t.clock.offset(t.now, 1), 600ms);
  t.hear(1, 600ms, 501ms);
  EXPECT_EQ(t.clock.offset(t.now, 1), 600ms);
  t.clock.on_heartbeat(t.now, 1, t.wall(5h), 1001ms);
  EXPECT_EQ(t.clock.offset(t.now, 1), 600ms) << "one that took too long says little";
  t.clock.on_heartbeat(t.now, 1, t.wall(5h), -1ms);
  EXPECT_EQ(t.clock.offset(t.now, 1), 600ms) << "one that took less than no time lies";
}

TEST(WallClock, ignores_members_not_heard_for_ten_seconds) {
  Clocks t(3);
  t.hear(1, 5s);
  t.pass(5s);
  t.hear(2, 0s);
  EXPECT_EQ(t.clock.ahead(), 0s);
  t.pass(5001ms);
  EXPECT_FALSE(t.clock.offset(t.now, 1));
  EXPECT_EQ(t.clock.ahead(), 0s);
}

TEST(WallClock, keeps_its_verdict_while_nobody_is_heard) {
  for (const Duration ahead : {0s, 5s}) {
    Clocks t(2, ahead);
    t.hear(1, 0s);
    const bool trusted = t.clock.trusted();
    EXPECT_EQ(trusted, ahead == 0s);
    for (int i = 0; i < 100; ++i) t.pass(1min);
    EXPECT_EQ(t.clock.trusted(), trusted);
  }
}

// Against the monotonic clock, whichever of them is wrong.
TEST(WallClock, that_jumps_while_nobody_is_heard_is_not_trusted_any_more) {
  for (const Duration jump : {Duration(1001ms), Duration(-1001ms), Duration(1h)}) {
    Clocks t(2);
    t.hear(1, 0s);
    t.pass(11s);
    ASSERT_TRUE(t.clock.trusted());
    t.set(jump);
    EXPECT_FALSE(t.clock.trusted());
    EXPECT_THAT(t.clock.doubt(), HasSubstr("jumped"));
    EXPECT_EQ(t.clock.ahead(), jump);
    t.pass(1h);
    t.set(0s);
    EXPECT_FALSE(t.clock.trusted()) << "who knows which of the two was right";
    t.hear(1, 0s);
    EXPECT_TRUE(t.clock.trusted());
  }
}

TEST(WallClock, that_jumps_is_judged_by_what_was_heard_before) {
  Clocks t(3);
  t.hear(1, 0s), t.hear(2, 0s);
  t.pass(100ms);
  t.set(10min);
  EXPECT_FALSE(t.clock.trusted());
  t.set(0s);
  EXPECT_TRUE(t.clock.trusted());
}

TEST(WallClock, goes_on_between_the_ticks_and_never_back_while_it_is_trusted) {
  Clocks t(3);
  t.hear(1, 0s), t.hear(2, 0s);
  t.pass(100ms);
  const Instant later = t.now + 99ms;
  EXPECT_EQ(t.clock.at(later), kNoon + 199ms);
  t.now = later;
  t.set(-500ms);
  EXPECT_TRUE(t.clock.trusted());
  EXPECT_EQ(t.clock.at(t.now), kNoon + 199ms);
  t.pass(400ms);
  EXPECT_EQ(t.clock.at(t.now), kNoon + 199ms);
  t.pass(200ms);
  EXPECT_EQ(t.clock.at(t.now), kNoon + 299ms);
}

// At 0.9 s off it was trusted, and then it went on by another 0.9 s.
TEST(WallClock, is_not_trusted_beyond_the_skew_though_it_went_there_in_small_steps) {
  Clocks t(2, 1800ms);
  t.hear(1, 0s);
  ASSERT_EQ(t.clock.ahead(), 900ms);
  ASSERT_TRUE(t.clock.trusted());
  t.pass(11s);
  t.set(2000ms);
  EXPECT_EQ(t.clock.ahead(), 1100ms);
  EXPECT_FALSE(t.clock.trusted());
}

// All were ten minutes fast, and are set right one by one.
TEST(WallClock, that_was_set_back_with_the_others_is_trusted_when_its_time_goes_on) {
  Clocks t(3, 10min);
  t.hear(1, 10min), t.hear(2, 10min);
  t.pass(100ms);
  ASSERT_TRUE(t.clock.trusted());
  t.hear(1, 0s), t.hear(2, 0s);
  t.set(0s);
  EXPECT_FALSE(t.clock.trusted());
  EXPECT_THAT(t.clock.doubt(), HasSubstr("set back by 600 s"));
  EXPECT_EQ(t.clock.shown(t.now), kNoon + 100ms) << "it tells others the right time";
  for (int i = 0; i < 599; ++i) t.pass(1s), t.hear(1, 0s), t.hear(2, 0s);
  EXPECT_TRUE(t.clock.trusted()) << "a second before, at most";
}

TEST(WallClock, that_is_alone_is_not_trusted_while_its_time_stands_still) {
  Clocks t(1);
  t.pass(100ms);
  t.set(-1h);
  EXPECT_FALSE(t.clock.trusted());
  t.set(-900ms);
  EXPECT_TRUE(t.clock.trusted());
}

TEST(WallClock, hears_the_latest_time_that_there_is) {
  Clocks t(2);
  t.clock.on_heartbeat(t.now, 1, kLatestWall, 2ms);
  EXPECT_FALSE(t.clock.trusted());
  EXPECT_GT(*t.clock.offset(t.now, 1), 20 * 365 * 24h);
  t.clock.on_heartbeat(t.now, 1, Wall{}, 2ms);
  EXPECT_LT(*t.clock.offset(t.now, 1), -20 * 365 * 24h);
}

// As if the process, or its machine, had stood still.
TEST(WallClock, does_not_follow_a_monotonic_clock_that_jumps) {
  Clocks t(3);
  t.hear(1, 0s), t.hear(2, 0s);
  EXPECT_EQ(t.clock.at(t.now + 900ms), kNoon + 900ms);
  EXPECT_EQ(t.clock.at(t.now + 1h), kNoon + 1s);
  t.clock.set(t.now + 1h, kNoon + 200ms);
  EXPECT_FALSE(t.clock.trusted()) << "one of the two jumped";
}

// What it showed then dates nothing, so it need not wait until the right time is that late.
TEST(WallClock, goes_back_from_what_was_never_trusted) {
  Clocks t(3);
  t.hear(1, 0s), t.hear(2, 0s);
  t.set(10min);
  ASSERT_FALSE(t.clock.trusted());
  EXPECT_EQ(t.clock.at(t.now), kNoon + 10min);
  t.set(0s);
  EXPECT_TRUE(t.clock.trusted());
  EXPECT_EQ(t.clock.at(t.now), kNoon);
}

// ---- in a cluster ----

TEST(ClusterClocks, are_compared_by_heartbeats) {
  HandDriven nodes;
  nodes.pass(500ms);
  for (const MemberIndex node : nodes.all()) EXPECT_TRUE(nodes.core(node).clock().trusted());
  nodes.set_clock(0, nodes.wall(0) + 3s);
  EXPECT_FALSE(nodes.core(0).clock().trusted());
  nodes.pass(500ms);
  const StatusReply status = nodes.core(0).status(nodes.now(), 1);
  EXPECT_EQ(status.clock_ms, 3000);
  EXPECT_THAT(status.clock_doubt, HasSubstr("3000 ms ahead of"));
  EXPECT_EQ(status.peers[0].clock_ms, -3000);
  const StatusReply other = nodes.core(1).status(nodes.now(), 1);
  EXPECT_EQ(other.clock_ms, 0);
  EXPECT_EQ(other.clock_doubt, "");
  nodes.set_clock(0, nodes.wall(1));
  EXPECT_TRUE(nodes.core(0).clock().trusted());
}

TEST(ClusterClocks, are_looked_at_often_though_the_gossip_is_rare) {
  HandDriven::Options options;
  options.settings.gossip_interval = 10s;
  HandDriven nodes(options);
  nodes.pass(1min);
  for (int i = 0; i < 40; ++i) {
    nodes.pass(730ms);
    for (const MemberIndex node : nodes.all()) {
      EXPECT_TRUE(nodes.core(node).clock().trusted()) << nodes.core(node).clock().doubt();
      EXPECT_EQ(nodes.core(node).clock().at(nodes.now()), nodes.wall(node));
    }
  }
}

TEST(ClusterClocks, of_a_node_that_starts_alone_are_not_trusted) {
  HandDriven nodes;
  nodes.pass(500ms);
  for (const MemberIndex node : nodes.all()) nodes.crash(node);
  nodes.start(0);
  nodes.pass(1min);
  EXPECT_FALSE(nodes.core(0).clock().trusted());
  nodes.start(1);
  nodes.connect_all();
  nodes.pass(500ms);
  EXPECT_TRUE(nodes.core(0).clock().trusted());
}

// Clients that ignore its refusals would leave counters without the end that they gave them.
TEST(ClusterClocks, a_started_node_waits_for_the_first_comparison_but_not_for_long) {
  HandDriven nodes;
  nodes.pass(500ms);
  nodes.settings(0).clock_wait = 1s;
  nodes.crash(0);
  nodes.start(0);
  nodes.connect(0);
  nodes.run();
  ASSERT_FALSE(nodes.core(0).clock().compared());
  EXPECT_FALSE(nodes.core(0).ready());
  EXPECT_EQ(nodes.code(nodes.add(0, "k", 1)), Code::unavailable);
  nodes.pass(300ms);
  EXPECT_TRUE(nodes.core(0).ready());
  EXPECT_EQ(nodes.code(nodes.add(0, "k", 1)), Code::ok);

  nodes.crash(0);
  nodes.start(0);  // and nobody answers
  nodes.pass(nodes.settings(0).confirm_wait + 900ms);
  EXPECT_FALSE(nodes.core(0).ready());
  nodes.pass(200ms);
  EXPECT_TRUE(nodes.core(0).ready());
  EXPECT_FALSE(nodes.core(0).clock().trusted());
}

TEST(ClusterClocks, of_members_in_one_process_prove_nothing) {
  HandDriven nodes;
  nodes.settings(0).same_clock = {0, 1};
  nodes.crash(0);
  nodes.start(0);
  nodes.connect(0, 1);
  nodes.pass(1s);
  EXPECT_FALSE(nodes.core(0).clock().trusted());
}

TEST(ClusterClocks, that_are_wrong_stop_no_plain_counter) {
  HandDriven nodes;
  nodes.pass(500ms);
  nodes.set_clock(0, nodes.wall(0) - 1h);
  ASSERT_FALSE(nodes.core(0).clock().trusted());
  for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
    const std::uint64_t id = nodes.add(0, "k", 1, {.ack = ack});
    nodes.pass(300ms);
    EXPECT_EQ(nodes.code(id), Code::ok);
  }
  EXPECT_EQ(nodes.total(1, "k", ReadLevel::strong), 3);
}

}  // namespace
}  // namespace quipu::test
