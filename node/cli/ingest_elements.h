// ingest_elements.h: an input with an element of one counter on each line (--kind KIND --key KEY).
//
// The state of a resumed ingest has the lines of each add, not their elements. The input is read
// again anyway, and is the same, or the ingest ends. So the adds that are still open get their
// elements from there: the same ones in the same order, as a retry with a token requires.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "node/cli/ingest_state.h"
#include "node/cli/line_reader.h"
#include "protocol/top_words.h"
#include "quipu/kind.h"

namespace quipu::cli {

// The kinds that an input may be for. Each takes a list of elements as its change.
inline constexpr std::array kElementKinds{Kind::distinct, Kind::frequency, Kind::top};

// Longer elements are not counted.
[[nodiscard]] constexpr std::size_t longest_element(Kind kind) {
  return kind == Kind::top ? top::kMaxItem : LineReader::kMaxLine;
}

// Finds the elements of open adds.
class OpenElements {
 public:
  using OpenAdds = std::map<std::uint64_t, IngestState::OpenAdd>;

  // Borrows the adds.
  OpenElements(Kind kind, OpenAdds& adds);
  // All lines of the input, in order.
  void take(const LineReader::Line& line);
  // Each add has its elements.
  [[nodiscard]] bool complete() const;

 private:
  struct Lines {
    std::uint64_t first, last;
    CombinedAdd* add;
  };

  Kind kind_;
  OpenAdds& adds_;
  std::vector<Lines> wanted_;  // ascending
  std::size_t at_ = 0;         // those before it are over
};

}  // namespace quipu::cli
