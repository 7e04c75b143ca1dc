// duration_text.h: durations as people write them, in settings, on command lines and in RESP:
// "500ms", "30s", "12h". A number without a unit is in seconds. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quipu {

// Nothing: it is no duration from 1 ms to `longest`.
[[nodiscard]] std::optional<std::chrono::milliseconds> to_duration(
    std::string_view text, std::chrono::milliseconds longest);
// In the largest unit in which it is a whole number. REQUIRES: it is not negative.
[[nodiscard]] std::string to_text(std::chrono::milliseconds duration);

}  // namespace quipu
