#include "node/base/spelling.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace quipu {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t above_left = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t changed = above_left + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, changed});
      above_left = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known,
                                        std::size_t slips) {
  const std::string* nearest = nullptr;
  std::size_t least = slips + 1;
  for (const std::string& one : known) {
    // So that a long word costs no time.
    const std::size_t longer = std::max(one.size(), word.size());
    if (longer - std::min(one.size(), word.size()) > slips) continue;
    const std::size_t distance = edit_distance(word, one);
    if (distance >= least) continue;
    least = distance;
    nearest = &one;
  }
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

}  // namespace quipu
