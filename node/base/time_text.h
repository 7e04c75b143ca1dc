// time_text.h: moments as people write them on command lines, in UTC: "2026-11-26T10:41",
// "2026-11-26", or the seconds since 1970. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace quipu {

// Nothing: it is no moment from 1970 to 2261. A 'Z' at the end and a space instead of the 'T' are
// fine, too.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> to_time(std::string_view text);
// "2026-11-26T10:41:00Z"; with milliseconds if there are any.
[[nodiscard]] std::string to_text(std::chrono::system_clock::time_point time);

}  // namespace quipu
