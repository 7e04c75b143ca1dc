#include "node/base/time_text.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace quipu {
namespace {

using Time = std::chrono::system_clock::time_point;

// Takes a number of exactly `digits` digits, and what follows it.
std::optional<unsigned> take(std::string_view& text, std::size_t digits) {
  unsigned number = 0;
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Nanoseconds since 1970, which a Time has, fill 64 bits during that year.
constexpr unsigned kBeyondYear = 2262;

std::optional<Time> seconds_since_1970(std::string_view text) {
  std::int64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seconds);
  constexpr std::chrono::sys_days kBeyond =
      std::chrono::year(static_cast<int>(kBeyondYear)) / std::chrono::January / 1;
  if (error != std::errc() || stopped != end || seconds < 0 ||
      seconds >= std::chrono::seconds(kBeyond.time_since_epoch()).count())
    return std::nullopt;
  return Time(std::chrono::seconds(seconds));
}

}  // namespace

std::optional<Time> to_time(std::string_view text) {
  if (text.size() != 4 && text.find('-') == std::string_view::npos) return seconds_since_1970(text);
  const auto year = take(text, 4);
  const bool to_month = year && take(text, "-");
  const auto month = to_month ? take(text, 2) : std::nullopt;
  const bool to_day = month && take(text, "-");
  const auto day = to_day ? take(text, 2) : std::nullopt;
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *year < 1970 || *year >= kBeyondYear) return std::nullopt;
  std::array<unsigned, 3> clock{};  // hour, minute, second
  constexpr std::array<unsigned, 3> kBeyond{24, 60, 60};
  constexpr std::array<std::string_view, 3> kBefore{"T ", ":", ":"};
  std::size_t parts = 0;
  while (parts < clock.size() && take(text, kBefore[parts])) {
    const auto number = take(text, 2);
    if (!number || *number >= kBeyond[parts]) return std::nullopt;
    clock[parts++] = *number;
  }
  if (parts > 0) (void)take(text, "Z");
  if (parts == 1 || !text.empty()) return std::nullopt;  // an hour alone
  return std::chrono::sys_days(date) + std::chrono::hours(clock[0]) +
         std::chrono::minutes(clock[1]) + std::chrono::seconds(clock[2]);
}

std::string to_text(Time time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(ms);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(ms - day);
  std::array<char, 48> text;
  const auto number = [](auto one) { return static_cast<int>(one.count()); };
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), number(clock.hours()),
                                 number(clock.minutes()), number(clock.seconds()));
  std::string out(text.data(), static_cast<std::size_t>(size));
  if (clock.subseconds().count() > 0) {
    std::string digits = std::to_string(clock.subseconds().count());
    out += '.' + std::string(3 - digits.size(), '0') + digits;
  }
  return out + 'Z';
}

}  // namespace quipu
