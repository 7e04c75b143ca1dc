#include "node/cli/histogram.h"

#include <algorithm>
#include <bit>

namespace quipu::cli {

std::size_t Histogram::bucket(std::uint64_t value) {
  if (value < kFine) return static_cast<std::size_t>(value);
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kFineBits;
  return (shift + 1) * kFine + static_cast<std::size_t>((value >> shift) - kFine);
}

std::uint64_t Histogram::upper_end(std::size_t bucket) {
  if (bucket < kFine) return bucket;
  const std::size_t shift = bucket / kFine - 1;
  const std::uint64_t begin = (kFine + bucket % kFine) << shift;
  return begin + (std::uint64_t{1} << shift) - 1;
}

void Histogram::add(std::chrono::nanoseconds value, std::uint64_t times) {
  counts_[bucket(static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0)))] += times;
  count_ += times;
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
}

std::chrono::nanoseconds Histogram::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > 0 && seen >= wanted) return std::chrono::nanoseconds(upper_end(i));
  }
  return {};
}

}  // namespace quipu::cli
