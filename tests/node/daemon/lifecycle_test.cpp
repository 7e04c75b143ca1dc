#include "node/daemon/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Wish = Signals::Wish;

NodeHealth well() { return {.ready = true}; }
NodeHealth waiting() { return {.ready = false, .waits_for = "the founders"}; }

// A lifecycle, and its clock.
class LifecycleTest : public testing::Test {
 protected:
  LifecycleSteps look(Observed observed) { return lifecycle_.look(now_, observed); }
  void pass(Duration time) { now_ += time; }

  Instant now_{seconds(100)};
  Lifecycle lifecycle_{now_, {.drain_delay = seconds(5), .watchdog = seconds(30)}};
};

TEST_F(LifecycleTest, IsReadyOnceTheNodeIs) {
  EXPECT_THAT(look({}).notify,
              ElementsAre("EXTEND_TIMEOUT_USEC=30000000", "STATUS=the store is recovered"));
  EXPECT_EQ(lifecycle_.not_ready(), "the store is recovered");
  EXPECT_THAT(look({.opened = true, .health = waiting()}).notify,
              ElementsAre("STATUS=the founders", "WATCHDOG=1"));
  EXPECT_EQ(lifecycle_.not_ready(), "the founders");
  EXPECT_THAT(look({.opened = true, .health = well()}).notify,
              ElementsAre("READY=1", "STATUS=ready"));
  EXPECT_EQ(lifecycle_.not_ready(), "");
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, IsEmpty());
}

TEST_F(LifecycleTest, AsksForTimeAsLongAsItStarts) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(look({}).notify, Contains("EXTEND_TIMEOUT_USEC=30000000"));
    pass(seconds(9));
    EXPECT_THAT(look({}).notify, IsEmpty());
    pass(seconds(1));
  }
}

TEST_F(LifecycleTest, IsCalledReadyAfterAMinuteSinceAFoundingMayWaitForPeople) {
  EXPECT_THAT(look({.opened = true, .health = waiting()}).notify, Not(Contains("READY=1")));
  pass(seconds(60));
  EXPECT_THAT(look({.opened = true, .health = waiting()}).notify, Contains("READY=1"));
  EXPECT_EQ(lifecycle_.not_ready(), "the founders");
}

TEST_F(LifecycleTest, DrainsForItsDelayAndThenCloses) {
  static_cast<void>(look({.opened = true, .health = well()}));
  LifecycleSteps steps = look({.wish = Wish::drain, .opened = true, .health = well()});
  EXPECT_TRUE(steps.drain);
  EXPECT_FALSE(steps.close);
  EXPECT_THAT(steps.notify, ElementsAre("STOPPING=1", "STATUS=draining"));
  EXPECT_EQ(lifecycle_.not_ready(), "draining");
  pass(milliseconds(4'999));
  EXPECT_FALSE(look({.opened = true, .health = well()}).close);
  EXPECT_EQ(lifecycle_.next_look(now_), now_ + milliseconds(1));
  pass(milliseconds(1));
  steps = look({.opened = true, .health = well()});
  EXPECT_EQ(steps.close, seconds(30));
  EXPECT_FALSE(steps.end);
  EXPECT_EQ(lifecycle_.not_ready(), "draining");
  EXPECT_FALSE(look({.opened = true, .health = well()}).close);  // once
  EXPECT_TRUE(look({.opened = true, .closed = true}).end);
}

TEST_F(LifecycleTest, OtherStopsAndFailuresSkipTheDelay) {
  for (const bool failed : {false, true}) {
    Lifecycle lifecycle(now_, {.drain_delay = seconds(5)});
    static_cast<void>(lifecycle.look(now_, {.opened = true, .health = well()}));
    Observed stop{.opened = true, .failed = failed, .health = well()};
    if (!failed) stop.wish = Wish::stop;
    const LifecycleSteps steps = lifecycle.look(now_, stop);
    EXPECT_EQ(steps.close, kCloseNode);
    EXPECT_THAT(steps.notify, ElementsAre("STOPPING=1", "STATUS=closing"));
  }
}

TEST_F(LifecycleTest, AFailureEndsADrain) {
  static_cast<void>(look({.opened = true, .health = well()}));
  EXPECT_FALSE(look({.wish = Wish::drain, .opened = true, .health = well()}).close);
  EXPECT_TRUE(look({.opened = true, .failed = true}).close);
}

TEST_F(LifecycleTest, AStopWhileItStartsWaitsForTheStart) {
  EXPECT_FALSE(look({.wish = Wish::drain}).close);
  EXPECT_FALSE(look({}).close);
  EXPECT_EQ(look({.opened = true, .health = well()}).close, kCloseNode);
}

TEST_F(LifecycleTest, ANodeThatCannotBeOpenedEndsIt) { EXPECT_TRUE(look({.failed = true}).end); }

TEST_F(LifecycleTest, ReloadsOnlyWhileItServes) {
  EXPECT_FALSE(look({.wish = Wish::reload}).reload);
  static_cast<void>(look({.opened = true, .health = well()}));
  LifecycleSteps steps = look({.wish = Wish::reload, .opened = true, .health = well()});
  EXPECT_TRUE(steps.reload);
  EXPECT_THAT(steps.notify, ElementsAre("RELOADING=1"));
  EXPECT_THAT(steps.after_reload, ElementsAre("READY=1"));
  static_cast<void>(look({.wish = Wish::drain, .opened = true, .health = well()}));
  EXPECT_FALSE(look({.wish = Wish::reload, .opened = true, .health = well()}).reload);
}

TEST_F(LifecycleTest, TheWatchdogIsFedOnlyWhileEveryReactorHasItsTurns) {
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, Contains("WATCHDOG=1"));
  pass(milliseconds(14'999));
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, IsEmpty());
  pass(milliseconds(1));
  NodeHealth stuck = well();
  stuck.since_turn = milliseconds(10'001);
  EXPECT_THAT(look({.opened = true, .health = stuck}).notify, IsEmpty());
  EXPECT_GT(lifecycle_.next_look(now_), now_);
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, ElementsAre("WATCHDOG=1"));
}

}  // namespace
}  // namespace quipu::test
