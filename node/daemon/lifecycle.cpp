#include "node/daemon/lifecycle.h"

#include <algorithm>
#include <utility>

namespace quipu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kTellReady{60};
constexpr seconds kExtend{30};       // the time to start, from each message on
constexpr seconds kExtendEvery{10};  // less than kExtend, and than a usual TimeoutStartSec
constexpr seconds kFlush{30};        // for peers to take all changes, after a drain
constexpr milliseconds kLookForReady{100};
constexpr seconds kLook{1};
static_assert(kExtendEvery < kExtend);

std::string assign(const char* name, Duration time) {
  return name + std::to_string(std::chrono::floor<std::chrono::microseconds>(time).count());
}

}  // namespace

Lifecycle::Lifecycle(Instant now, Options options)
    : options_(options), next_extend_(now), next_watchdog_(now) {}

LifecycleSteps Lifecycle::look(Instant now, const Observed& observed) {
  LifecycleSteps steps;
  if (phase_ == Phase::starting) start(now, observed, steps);
  if (phase_ == Phase::serving) serve(now, observed, steps);
  if (phase_ == Phase::draining && (observed.failed || now >= drained_at_)) close(kFlush, steps);
  if (phase_ == Phase::closing && observed.closed) steps.end = true;
  if (phase_ != Phase::starting) say_watchdog(now, observed.health, steps);
  return steps;
}

void Lifecycle::start(Instant now, const Observed& observed, LifecycleSteps& steps) {
  const auto& wish = observed.wish;
  if (wish == Signals::Wish::drain || wish == Signals::Wish::stop) stop_asked_ = true;
  if (observed.failed && !observed.opened) {
    steps.end = true;
  } else if (observed.opened) {
    phase_ = Phase::serving;
    ready_by_ = now + kTellReady;
  } else if (now >= next_extend_) {
    next_extend_ = now + kExtendEvery;
    steps.notify.push_back(assign("EXTEND_TIMEOUT_USEC=", kExtend));
    not_ready_ = "the store is recovered";
    say_status(not_ready_, steps);
  }
}

void Lifecycle::serve(Instant now, const Observed& observed, LifecycleSteps& steps) {
  if (observed.failed || stop_asked_ || observed.wish == Signals::Wish::stop)
    return close(kCloseNode, steps);
  not_ready_ = observed.health.ready ? "" : observed.health.waits_for;
  if (!ready_told_ && (observed.health.ready || now >= ready_by_)) {
    ready_told_ = true;
    steps.notify.emplace_back("READY=1");
  }
  say_status(observed.health.ready ? "ready" : not_ready_, steps);
  if (observed.wish == Signals::Wish::reload) {
    steps.notify.emplace_back("RELOADING=1");
    steps.reload = true;
    steps.after_reload.emplace_back("READY=1");
    ready_told_ = true;
  }
  if (observed.wish != Signals::Wish::drain) return;
  phase_ = Phase::draining;
  drained_at_ = now + options_.drain_delay;
  not_ready_ = "draining";
  steps.drain = true;
  steps.notify.emplace_back("STOPPING=1");
  say_status(not_ready_, steps);
}

void Lifecycle::close(milliseconds patience, LifecycleSteps& steps) {
  if (phase_ != Phase::draining) steps.notify.emplace_back("STOPPING=1");
  phase_ = Phase::closing;
  not_ready_ = "draining";
  say_status("closing", steps);
  steps.close = patience;
}

void Lifecycle::say_status(std::string status, LifecycleSteps& steps) {
  if (status_ == status) return;
  status_ = std::move(status);
  steps.notify.push_back("STATUS=" + status_);
}

void Lifecycle::say_watchdog(Instant now, const NodeHealth& health, LifecycleSteps& steps) {
  if (options_.watchdog == Duration::zero() || now < next_watchdog_) return;
  if (has_turns() && health.since_turn > kStuck) return;
  next_watchdog_ = now + options_.watchdog / 2;
  steps.notify.emplace_back("WATCHDOG=1");
}

Instant Lifecycle::next_look(Instant now) const {
  Instant next = now + (phase_ == Phase::serving && ready_told_ ? Duration(kLook) : kLookForReady);
  if (phase_ == Phase::draining) next = std::min(next, drained_at_);
  const bool due = options_.watchdog == Duration::zero() || next_watchdog_ <= now;
  if (!due) next = std::min(next, next_watchdog_);
  return next;
}

}  // namespace quipu
