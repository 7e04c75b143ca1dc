#include "node/settings/variables.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "node/base/spelling.h"
#include "node/settings/settings.h"

namespace quipu {
namespace {

constexpr std::string_view kOurs = "QUIPU_";
constexpr std::size_t kSlips = 2;

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
    const std::optional<std::string> meant = nearest_word(name, known, kSlips);
    if (meant)
      warnings.push_back(name + " is set, but means nothing: did you mean " + *meant + "?");
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
