#include "node/daemon/lifecycle.h"

#include <algorithm>
#include <utility>

namespace quipu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A reactor without a turn for longer is stuck.
constexpr seconds kStuck{10};
constexpr seconds kTellReady{60};
constexpr seconds kExtend{30};       // the time to start or stop, from each message on
constexpr seconds kExtendEvery{10};  // less than kExtend, and than a usual TimeoutStartSec
constexpr seconds kFlush{30};        // for peers to take all changes, after a drain
constexpr seconds kCloseMargin{15};  // for the disk, behind the patience of close()
constexpr milliseconds kLookForReady{100};
constexpr seconds kLook{1};
static_assert(kExtendEvery < kExtend);

std::string microseconds(const char* name, Duration time) {
  return name + std::to_string(std::chrono::floor<std::chrono::microseconds>(time).count());
}

}  // namespace

Lifecycle::Lifecycle(Instant now, Options options)
    : options_(options), next_extend_(now), next_watchdog_(now) {}

LifecycleSteps Lifecycle::look(Instant now, const Observed& observed) {
  LifecycleSteps steps;
  if (observed.wish) take_wish(now, *observed.wish, steps);
  go_on(now, observed, steps);
  look_whether_stuck(now, observed.health);
  feed(now, steps);
  return steps;
}

void Lifecycle::take_wish(Instant now, Signals::Wish wish, LifecycleSteps& steps) {
  if (wish == Signals::Wish::reload) reload_asked_ = true;
  if (wish == Signals::Wish::reload || stop_asked_ || phase_ == Phase::closing) return;
  stop_asked_ = wish;
  drained_at_ = now + options_.drain_delay;
  not_ready_ = "draining";
  steps.notify.emplace_back("STOPPING=1");
}

void Lifecycle::go_on(Instant now, const Observed& observed, LifecycleSteps& steps) {
  if (phase_ == Phase::starting) {
    if (observed.failed && !observed.opened) steps.end = true;
    if (!stop_asked_) say_status(not_ready_, steps);
    if (!observed.opened) return;
    phase_ = Phase::serving;
    ready_by_ = now + kTellReady;
  }
  if (phase_ == Phase::closing) {
    steps.end = observed.closed;
  } else if (observed.failed) {
    not_ready_ = "the node has failed";
    close(now, kCloseNode, steps);
  } else if (stop_asked_ == Signals::Wish::stop) {
    close(now, kCloseNode, steps);
  } else if (!stop_asked_) {
    serve(now, observed.health, steps);
  } else {
    steps.drain = std::exchange(phase_, Phase::draining) != Phase::draining;
    say_status("draining", steps);
    if (now >= drained_at_) close(now, kFlush, steps);
  }
}

void Lifecycle::serve(Instant now, const NodeHealth& health, LifecycleSteps& steps) {
  not_ready_ = health.ready ? "" : health.waits_for;
  if (!ready_told_ && (health.ready || now >= ready_by_)) {
    ready_told_ = true;
    steps.notify.emplace_back("READY=1");
  }
  say_status(health.ready ? "ready" : not_ready_, steps);
  if (!std::exchange(reload_asked_, false)) return;
  steps.reload = true;
  if (!ready_told_) return;  // READY=1 would say that the node has started
  steps.notify.emplace_back("RELOADING=1");
  steps.after_reload.emplace_back("READY=1");
}

void Lifecycle::close(Instant now, milliseconds patience, LifecycleSteps& steps) {
  if (!stop_asked_) steps.notify.emplace_back("STOPPING=1");
  phase_ = Phase::closing;
  closed_by_ = now + patience + kCloseMargin;
  say_status("closing", steps);
  steps.close = patience;
}

// Reactors have no turns before the node is open, and end while it closes. One that is stuck then
// stays so.
void Lifecycle::look_whether_stuck(Instant now, const NodeHealth& health) {
  if (phase_ == Phase::closing) {
    if (now >= closed_by_) stuck_ = "the node does not end: end it";
  } else {
    const std::string turns = std::to_string(health.since_turn.count());
    stuck_ = health.since_turn <= kStuck
                 ? ""
                 : "a reactor has had no turn for " + turns + " ms: restart the node";
  }
}

void Lifecycle::say_status(std::string status, LifecycleSteps& steps) {
  if (status_ == status) return;
  status_ = std::move(status);
  steps.notify.push_back("STATUS=" + status_);
}

void Lifecycle::feed(Instant now, LifecycleSteps& steps) {
  if (!stuck_.empty()) return;
  if ((!ready_told_ || stop_asked_ || phase_ == Phase::closing) && now >= next_extend_) {
    next_extend_ = now + kExtendEvery;
    steps.notify.push_back(microseconds("EXTEND_TIMEOUT_USEC=", kExtend));
  }
  if (options_.watchdog == Duration::zero() || now < next_watchdog_) return;
  next_watchdog_ = now + options_.watchdog / 2;
  steps.notify.emplace_back("WATCHDOG=1");
}

Instant Lifecycle::next_look(Instant now) const {
  Instant next = now + (ready_told_ && phase_ == Phase::serving ? Duration(kLook) : kLookForReady);
  if (phase_ == Phase::draining) next = std::min(next, drained_at_);
  const bool due = options_.watchdog == Duration::zero() || next_watchdog_ <= now;
  if (!due) next = std::min(next, next_watchdog_);
  return next;
}

}  // namespace quipu
