// clock.h: a node's monotonic clock. It starts at any time, runs a little fast or slow, and may
// jump forwards. (It never goes back. After a restart it may show any time, and it is never sent
// between nodes.)
#pragma once

#include "tests/simulator/timeline.h"

namespace quipu::sim {

class Clock {
 public:
  explicit Clock(const Timeline& time) : time_(time), since_(time.now()) {}

  // From now on it shows `shown`, and gains `ppm` millionths.
  void set(Instant shown, std::int64_t ppm) {
    shown_ = shown;
    since_ = time_.now();
    ppm_ = ppm;
  }
  void jump(Duration by) { set(now() + by, ppm_); }
  void drift(std::int64_t ppm) { set(now(), ppm); }

  [[nodiscard]] Instant now() const {
    const Duration passed = time_.now() - since_;
    return shown_ + passed + passed * ppm_ / 1'000'000;
  }
  // The true time at which it will show at least `shown`.
  [[nodiscard]] Instant when(Instant shown) const {
    if (shown == kNever) return kNever;
    const Duration left = shown - now();
    if (left <= Duration::zero()) return time_.now();
    return time_.now() + left - left * ppm_ / 1'000'000 + std::chrono::microseconds(1);
  }

 private:
  const Timeline& time_;
  Instant since_;
  Instant shown_ = Timeline::kStart;
  std::int64_t ppm_ = 0;
};

}  // namespace quipu::sim
