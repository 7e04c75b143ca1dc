// timeline.h: virtual time: a heap of things to happen, in order, ties by age.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "protocol/instant.h"

namespace quipu::sim {

class Timeline {
 public:
  // Not 0, which the cores take for "never".
  static constexpr Instant kStart{std::chrono::hours(1)};

  [[nodiscard]] Instant now() const { return now_; }

  void at(Instant when, std::function<void()> what) {
    events_.push({std::max(when, now_), next_++, std::move(what)});
  }
  void in(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Everything up to `until`, or until `stop` says so.
  template <class Stop>
  void run(Instant until, Stop&& stop) {
    while (!events_.empty() && events_.top().when <= until && !stop()) {
      Event event = std::move(const_cast<Event&>(events_.top()));
      events_.pop();
      now_ = event.when;
      event.what();
    }
    if (!stop()) now_ = until;
  }

 private:
  struct Event {
    Instant when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  Instant now_ = kStart;
  std::uint64_t next_ = 0;
  std::priority_queue<Event> events_;
};

}  // namespace quipu::sim
