#include "node/base/time_text.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::system_clock::time_point;

TEST(TimeText, AMomentIsADateInUtcOrTheSecondsSince1970) {
  const std::pair<const char*, std::chrono::seconds> cases[] = {
      {"0", 0s},
      {"1790000000", 1'790'000'000s},
      {"1970-01-01", 0s},
      {"1970-01-01T00:00", 0s},
      {"2026-09-21T13:33", 1'789'997'580s},
      {"2026-09-21T13:33:20", 1'789'997'600s},
      {"2026-09-21 13:33:20Z", 1'789'997'600s},
      {"2024-02-29", 1'709'164'800s},
      {"2261-12-31T23:59:59Z", 9'214'646'399s},
      {"9214646399", 9'214'646'399s}};
  for (const auto& [text, since] : cases) EXPECT_EQ(to_time(text), Time(since)) << text;
}

TEST(TimeText, WhatIsNoneIsRefused) {
  for (const char* text : {"",
                           "now",
                           "-1",
                           "1.5",
                           "9214646400",
                           "99999999999999999999",
                           "2026",
                           "2262-01-01",
                           "9999-12-31",
                           "2026-13-01",
                           "2026-02-30",
                           "1969-12-31",
                           "2026-9-21",
                           "2026-09-21T",
                           "2026-09-21T13",
                           "2026-09-21T24:00",
                           "2026-09-21T13:60",
                           "2026-09-21T13:33:60",
                           "2026-09-21T13:33+01:00",
                           "2026-09-21Z",
                           "2026-09-21T13:33:20.5"})
    EXPECT_EQ(to_time(text), std::nullopt) << text;
}

TEST(TimeText, AMomentIsShownToTheSecondOrMillisecond) {
  EXPECT_EQ(to_text(Time(1'789'997'600s)), "2026-09-21T13:33:20Z");
  EXPECT_EQ(to_text(Time(1'789'997'600s + 7ms)), "2026-09-21T13:33:20.007Z");
  EXPECT_EQ(to_text(Time{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_time("2026-09-21T13:33:20Z"), Time(1'789'997'600s));
}

}  // namespace
}  // namespace quipu::test
