#include "node/variables.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "node/settings.h"

namespace quipu {
namespace {

constexpr std::string_view kOurs = "QUIPU_";
constexpr std::size_t kSlips = 2;

// How many characters must be put in, left out or changed (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
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

std::optional<std::string> read_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> known_variables() {
  std::vector<std::string> known = setting_variables();
  known.insert(known.end(), {"QUIPU_CONFIG", "QUIPU_NODES"});
  return known;
}

std::vector<std::string> mistyped_variables(std::span<const std::string> names) {
  const std::vector<std::string> known = known_variables();
  std::vector<std::string> warnings;
  for (const std::string& name : names) {
    const bool ours = name.starts_with(kOurs);
    if (!ours || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto closest = std::min_element(known.begin(), known.end(),
                                          [&](const std::string& a, const std::string& b) {
                                            return distance(name, a) < distance(name, b);
                                          });
    if (distance(name, *closest) > kSlips) continue;
    warnings.push_back(name + " is set, but means nothing: did you mean " + *closest + "?");
  }
  return warnings;
}

std::vector<std::string> names_of(const char* const* environment) {
  std::vector<std::string> names;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    names.emplace_back(entry.substr(0, entry.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace quipu
