// line_ranges.h: a set of lines, compactly: "3, 5-9".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace quipu::cli {

class LineRanges {
 public:
  // In any order. Only lines that follow the last one directly take no memory.
  void add(std::uint64_t first, std::uint64_t last);
  void add(std::uint64_t line) { add(line, line); }
  void add(const LineRanges& other);
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] bool empty() const { return lines_ == 0; }
  [[nodiscard]] const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges() const {
    return ranges_;
  }
  // Sorted. With more than `most` ranges: the first ones, and how many more.
  [[nodiscard]] std::string text(std::size_t most = 10) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;  // first, last
  std::uint64_t lines_ = 0;
};

}  // namespace quipu::cli
