// ingest_combiner.h: lines that wait to be sent, those of one key summed into one
// add, which remembers the lines that it stands for.
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

#include "node/cli/line_ranges.h"

namespace quipu::cli {

struct CombinedAdd {
  std::string key;
  std::int64_t amount = 0;
  LineRanges lines;
};

class IngestCombiner {
 public:
  // Keys that wait: what a look-ahead is worth, at about 200 B each.
  static constexpr std::size_t kMaxWaiting = 32'768;
  // Remembered ranges of one add; then another is begun.
  static constexpr std::size_t kMaxRanges = 256;

  // A sum that would leave int64 is begun anew instead.
  void put(std::uint64_t line, std::string_view key, std::int64_t amount);
  [[nodiscard]] std::optional<CombinedAdd> take();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] bool full() const { return waiting_.size() >= kMaxWaiting; }

 private:
  using Waiting = std::list<CombinedAdd>;

  Waiting waiting_;
  // The newest add of each key, by a view of its key; never iterated.
  std::unordered_map<std::string_view, Waiting::iterator> newest_;
};

}  // namespace quipu::cli
