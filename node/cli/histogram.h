// histogram.h: latencies, to within 1/32 of each, in a few kilobytes.
//
//   value ─▶ bucket (its highest bit, and the 5 bits behind) ─▶ counts
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace quipu::cli {

class Histogram {
 public:
  void add(std::chrono::nanoseconds value, std::uint64_t times = 1);
  void add(const Histogram& other);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The value that this share of all values does not exceed. 0 if there are none.
  [[nodiscard]] std::chrono::nanoseconds quantile(double share) const;

 private:
  static constexpr unsigned kFineBits = 5;
  static constexpr std::size_t kFine = std::size_t{1} << kFineBits;

  static std::size_t bucket(std::uint64_t value);
  static std::uint64_t upper_end(std::size_t bucket);

  std::array<std::uint64_t, (64 - kFineBits + 1) * kFine> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace quipu::cli
