#include "node/cli/line_ranges.h"

#include <algorithm>

namespace quipu::cli {

void LineRanges::add(std::uint64_t first, std::uint64_t last) {
  lines_ += last - first + 1;
  if (!ranges_.empty() && ranges_.back().second + 1 == first) {
    ranges_.back().second = last;
  } else {
    ranges_.emplace_back(first, last);
  }
}

void LineRanges::add(const LineRanges& other) {
  for (const auto& [first, last] : other.ranges_) add(first, last);
}

std::string LineRanges::text(std::size_t most) const {
  auto sorted = ranges_;
  std::sort(sorted.begin(), sorted.end());
  LineRanges joined;
  for (const auto& [first, last] : sorted) joined.add(first, last);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, joined.ranges_.size()); ++i) {
    const auto& [first, last] = joined.ranges_[i];
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last != first) text += '-' + std::to_string(last);
  }
  if (joined.ranges_.size() > most)
    text += " and " + std::to_string(joined.ranges_.size() - most) + " more ranges";
  return text;
}

}  // namespace quipu::cli
