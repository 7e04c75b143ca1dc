// duration_histogram.h: how long things took, in few numbers.
//
// One observation may stand for many operations of a batch: its weight is their number.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "protocol/instant.h"

namespace quipu {

class DurationHistogram {
 public:
  // The longest duration of each bucket. What is longer is in none, and in count().
  static constexpr std::array<Duration, 16> kMost = [] {
    using namespace std::chrono_literals;
    return std::array<Duration, 16>{100us, 200us, 500us, 1ms,   2ms,    5ms, 10ms, 20ms,
                                    50ms,  100ms, 200ms, 500ms, 1000ms, 2s,  5s,   10s};
  }();

  // A duration below 0 counts as 0.
  void observe(Duration took, std::uint64_t weight = 1) {
    took = std::max(took, Duration::zero());
    const auto at = std::ranges::lower_bound(kMost, took);
    if (at != kMost.end()) buckets_[static_cast<std::size_t>(at - kMost.begin())] += weight;
    count_ += weight;
    sum_ += std::chrono::duration<double>(took).count() * static_cast<double>(weight);
  }
  void add(const DurationHistogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

  // Of the bucket alone.
  [[nodiscard]] std::uint64_t in_bucket(std::size_t i) const { return buckets_[i]; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Seconds. (A sum of nanoseconds of thousands of requests would be too large after days.)
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kMost.size()> buckets_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace quipu
