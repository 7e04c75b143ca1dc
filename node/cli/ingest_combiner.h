// ingest_combiner.h: lines that wait to be sent. Lines with one key are summed into one add,
// which remembers its lines.
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
  // The most waiting keys: a look-ahead that is worth about 200 B each.
  static constexpr std::size_t kMaxWaiting = 32'768;
  // The most ranges in one add. After that, another add begins.
  static constexpr std::size_t kMaxRanges = 256;

  // If a sum would leave int64, another add begins.
  void put(std::uint64_t line, std::string_view key, std::int64_t amount);
  [[nodiscard]] std::optional<CombinedAdd> take();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] bool full() const { return waiting_.size() >= kMaxWaiting; }

 private:
  using Waiting = std::list<CombinedAdd>;

  Waiting waiting_;
  // The newest add of each key. The key is a view of the add's. Never iterated.
  std::unordered_map<std::string_view, Waiting::iterator> newest_;
};

}  // namespace quipu::cli
