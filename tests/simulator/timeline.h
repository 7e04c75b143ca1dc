// timeline.h: virtual time: a heap of events, in order, ties by age.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "protocol/instant.h"

namespace quipu::sim {

class Timeline {
 public:
  // Not 0, which means "never" to the cores.
  static constexpr Instant kStart{std::chrono::hours(1)};

  [[nodiscard]] Instant now() const { return now_; }

  void at(Instant when, std::function<void()> what) {
    std::size_t place = things_.size();
    if (free_.empty()) {
      things_.push_back(std::move(what));
    } else {
      place = free_.back();
      free_.pop_back();
      things_[place] = std::move(what);
    }
    events_.push({std::max(when, now_), next_++, place});
  }
  void in(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Runs everything up to `until`, or until `stop` returns true.
  template <class Stop>
  void run(Instant until, Stop&& stop) {
    while (!events_.empty() && events_.top().when <= until && !stop()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.when;
      free_.push_back(event.place);
      const std::function<void()> what = std::exchange(things_[event.place], nullptr);
      what();
    }
    if (!stop()) now_ = until;
  }

 private:
  struct Event {  // small, as a heap moves them about
    Instant when;
    std::uint64_t order;
    std::size_t place;  // of what happens
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  Instant now_ = kStart;
  std::uint64_t next_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::function<void()>> things_;
  std::vector<std::size_t> free_;  // places
};

}  // namespace quipu::sim
