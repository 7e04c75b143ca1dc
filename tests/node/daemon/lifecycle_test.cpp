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
  EXPECT_THAT(look({}).notify, ElementsAre("STATUS=the store is recovered",
                                           "EXTEND_TIMEOUT_USEC=30000000", "WATCHDOG=1"));
  EXPECT_EQ(lifecycle_.not_ready(), "the store is recovered");
  EXPECT_THAT(look({.opened = true, .health = waiting()}).notify,
              ElementsAre("STATUS=the founders"));
  EXPECT_EQ(lifecycle_.not_ready(), "the founders");
  EXPECT_THAT(look({.opened = true, .health = well()}).notify,
              ElementsAre("READY=1", "STATUS=ready"));
  EXPECT_EQ(lifecycle_.not_ready(), "");
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, IsEmpty());
}

TEST_F(LifecycleTest, AsksForTimeUntilItIsReadyAndWhileItStops) {
  const auto asks = [this](Observed observed) {
    pass(seconds(10));
    return testing::Value(look(observed).notify, Contains("EXTEND_TIMEOUT_USEC=30000000"));
  };
  EXPECT_TRUE(asks({}));
  pass(seconds(-1));  // sooner
  EXPECT_FALSE(asks({}));
  EXPECT_TRUE(asks({}));
  EXPECT_TRUE(asks({.opened = true, .health = waiting()}));
  EXPECT_FALSE(asks({.opened = true, .health = well()}));
  EXPECT_TRUE(asks({.wish = Wish::drain, .opened = true, .health = well()}));
  EXPECT_TRUE(asks({.opened = true}));  // closing
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
  EXPECT_THAT(steps.notify,
              ElementsAre("STOPPING=1", "STATUS=draining", "EXTEND_TIMEOUT_USEC=30000000"));
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
    EXPECT_THAT(steps.notify,
                ElementsAre("STOPPING=1", "STATUS=closing", "EXTEND_TIMEOUT_USEC=30000000"));
    EXPECT_EQ(lifecycle.not_ready(), failed ? "the node has failed" : "draining");
  }
}

TEST_F(LifecycleTest, AFailureEndsADrain) {
  EXPECT_FALSE(look({.wish = Wish::drain, .opened = true, .health = well()}).close);
  EXPECT_TRUE(look({.opened = true, .failed = true}).close);
}

TEST_F(LifecycleTest, SignalsThatComeWhileItStartsAreObeyedOnceItIsOpen) {
  EXPECT_THAT(look({.wish = Wish::drain}).notify, Contains("STOPPING=1"));
  EXPECT_EQ(lifecycle_.not_ready(), "draining");
  EXPECT_FALSE(look({.wish = Wish::stop}).close);  // the first one counts
  pass(seconds(5));
  EXPECT_EQ(look({.opened = true, .health = well()}).close, seconds(30));  // the delay is over

  Lifecycle stopped(now_, {});
  EXPECT_FALSE(stopped.look(now_, {.wish = Wish::stop}).close);
  EXPECT_EQ(stopped.look(now_, {.opened = true, .health = well()}).close, kCloseNode);

  Lifecycle reloaded(now_, {});
  EXPECT_FALSE(reloaded.look(now_, {.wish = Wish::reload}).reload);
  EXPECT_TRUE(reloaded.look(now_, {.opened = true, .health = well()}).reload);
  EXPECT_FALSE(reloaded.look(now_, {.opened = true, .health = well()}).reload);
}

TEST_F(LifecycleTest, ANodeThatCannotBeOpenedEndsIt) { EXPECT_TRUE(look({.failed = true}).end); }

TEST_F(LifecycleTest, AReloadSaysReadyAgainOnlyIfItWasSaid) {
  LifecycleSteps steps = look({.wish = Wish::reload, .opened = true, .health = waiting()});
  EXPECT_TRUE(steps.reload);
  EXPECT_THAT(steps.notify, Not(Contains("RELOADING=1")));
  EXPECT_THAT(steps.after_reload, IsEmpty());
  static_cast<void>(look({.opened = true, .health = well()}));
  steps = look({.wish = Wish::reload, .opened = true, .health = well()});
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
  NodeHealth silent = well();
  silent.since_turn = milliseconds(10'001);
  EXPECT_THAT(look({.opened = true, .health = silent}).notify, IsEmpty());
  EXPECT_THAT(lifecycle_.stuck(), testing::StartsWith("a reactor has had no turn for 10001 ms"));
  EXPECT_GT(lifecycle_.next_look(now_), now_);
  EXPECT_THAT(look({.opened = true, .health = well()}).notify, ElementsAre("WATCHDOG=1"));
  EXPECT_EQ(lifecycle_.stuck(), "");
}

TEST_F(LifecycleTest, AStopDoesNotHideThatAReactorIsStuck) {
  NodeHealth silent = well();
  silent.since_turn = seconds(11);
  static_cast<void>(look({.opened = true, .health = silent}));
  EXPECT_TRUE(look({.wish = Wish::stop, .opened = true, .health = silent}).close);
  EXPECT_NE(lifecycle_.stuck(), "");
  pass(seconds(15));
  EXPECT_THAT(look({.opened = true, .health = silent}).notify, IsEmpty());
}

TEST_F(LifecycleTest, ReactorsMayEndWhileItClosesButThatMustEnd) {
  static_cast<void>(look({.wish = Wish::stop, .opened = true, .health = well()}));
  NodeHealth ended = well();
  ended.since_turn = seconds(20);
  pass(seconds(20));
  EXPECT_THAT(look({.opened = true, .health = ended}).notify, Contains("WATCHDOG=1"));
  EXPECT_EQ(lifecycle_.stuck(), "");
  pass(seconds(20));
  EXPECT_THAT(look({.opened = true, .health = ended}).notify, IsEmpty());
  EXPECT_NE(lifecycle_.stuck(), "");
}

}  // namespace
}  // namespace quipu::test
