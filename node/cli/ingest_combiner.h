// ingest_combiner.h: lines that wait to be sent. Lines with one key are combined into one add,
// which remembers its lines: amounts are summed, elements are listed.
//
//   put(line) ─▶ the key's add, or a new one at the end ─▶ take(), oldest first
//
// So the slower the cluster, the more each add combines. Bounded by full().
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "node/cli/line_ranges.h"

namespace quipu::cli {

struct CombinedAdd {
  std::string key;
  std::int64_t amount = 0;  // of elements: how many
  LineRanges lines;
  std::vector<std::string> elements{};  // one of each line, in their order; empty: a sum
};

class IngestCombiner {
 public:
  // The most waiting keys: a look-ahead that is worth about 200 B each.
  static constexpr std::size_t kMaxWaiting = 32'768;
  // The most ranges in one add. After that, another add begins.
  static constexpr std::size_t kMaxRanges = 256;
  // The most elements in one add. Less than any kind allows in one change: adds that are on their
  // way side by side are faster than a few large ones.
  static constexpr std::size_t kMaxElements = 1024;
  // The most memory of waiting elements.
  static constexpr std::size_t kMaxElementBytes = std::size_t{8} << 20;

  // If a sum would leave int64, another add begins.
  void put(std::uint64_t line, std::string_view key, std::int64_t amount);
  // Not beside lines with amounts.
  void put_element(std::uint64_t line, std::string_view key, std::string_view element);
  [[nodiscard]] std::optional<CombinedAdd> take();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] bool full() const {
    return waiting_.size() >= kMaxWaiting || element_bytes_ >= kMaxElementBytes;
  }

 private:
  using Waiting = std::list<CombinedAdd>;

  Waiting waiting_;
  std::size_t element_bytes_ = 0;
  // The newest add of each key. The key is a view of the add's. Never iterated.
  std::unordered_map<std::string_view, Waiting::iterator> newest_;
};

}  // namespace quipu::cli
