#include "node/base/duration_text.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kDay = 24h;

TEST(DurationText, ADurationHasAUnitOrIsInSeconds) {
  const std::pair<const char*, std::chrono::milliseconds> cases[] = {
      {"1ms", 1ms}, {"500ms", 500ms}, {"5s", 5s},          {"5", 5s},
      {"2m", 2min}, {"24h", kDay},    {"1440m", kDay},     {"1d", kDay},
      {"007s", 7s}, {"86400", kDay},  {"86400000ms", kDay}};
  for (const auto& [text, duration] : cases) EXPECT_EQ(to_duration(text, kDay), duration) << text;
}

TEST(DurationText, WhatIsNoneOrTooLongIsRefused) {
  for (const char* text : {"",
                           "s",
                           "0",
                           "0s",
                           "-1s",
                           "+1s",
                           "1.5s",
                           " 1s",
                           "1s ",
                           "1 s",
                           "1S",
                           "1x",
                           "1sm",
                           "1h1m",
                           "2d",
                           "25h",
                           "86401",
                           "86400001ms",
                           "9223372036854775807d",
                           "9223372036854775808ms"})
    EXPECT_EQ(to_duration(text, kDay), std::nullopt) << text;
}

TEST(DurationText, ADurationIsShownInItsLargestUnit) {
  const std::pair<std::chrono::milliseconds, const char*> cases[] = {
      {1ms, "1ms"}, {1500ms, "1500ms"}, {1s, "1s"},
      {90s, "90s"}, {60s, "1m"},        {90min, "90m"},
      {24h, "1d"},  {25h, "25h"},       {24h * 365'000, "365000d"}};
  for (const auto& [duration, text] : cases) {
    EXPECT_EQ(to_text(duration), text);
    EXPECT_EQ(to_duration(text, duration), duration);
  }
}

}  // namespace
}  // namespace quipu::test
