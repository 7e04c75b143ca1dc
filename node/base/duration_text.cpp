#include "node/base/duration_text.h"

#include <charconv>
#include <cstdint>

#include "protocol/check.h"

namespace quipu {
namespace {

struct Suffix {
  std::string_view name;
  std::int64_t ms;
};
constexpr Suffix kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000},
                             {"s", 1'000},      {"ms", 1},        {"", 1'000}};

}  // namespace

std::optional<std::chrono::milliseconds> to_duration(std::string_view text,
                                                     std::chrono::milliseconds longest) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number <= 0) return std::nullopt;
  const std::string_view unit(stopped, static_cast<std::size_t>(end - stopped));
  for (const auto& [name, ms] : kUnits) {
    if (unit == name && number <= longest.count() / ms)
      return std::chrono::milliseconds(number * ms);
  }
  return std::nullopt;
}

std::string to_text(std::chrono::milliseconds duration) {
  QUIPU_CHECK(duration.count() >= 0, "a duration for people is not negative", duration.count());
  const Suffix* unit = kUnits;
  while (duration.count() % unit->ms != 0) ++unit;  // ends at ms
  return std::to_string(duration.count() / unit->ms).append(unit->name);
}

}  // namespace quipu
