#include "node/base/tier_text.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

TEST(TierText, TiersAreALengthAndHowLongItsWindowsAreKept) {
  const std::vector<Tier> expected{{60s, 48h}, {1h, 24h * 90}, {24h, std::nullopt}};
  EXPECT_EQ(to_tiers(kTiersExample), expected);
  EXPECT_EQ(to_tiers("60 for 48h,1h  for  2160h , 24h for ever"), expected);
  EXPECT_EQ(to_text(expected), kTiersExample);
}

TEST(TierText, WhatDoesNotReadSoIsRefused) {
  for (const char* text :
       {"", "1m", "1m for", "for 1m", "1m for 2d,", ",1m for 2d", "1m for 2d 1h for ever",
        "1m for Ever", "1m for ever for ever", "500ms for 1m", "1m for 1500ms", "0s for 1m",
        "1m for 0s", "1m-for-2d", "1m for 400000d"})
    EXPECT_EQ(to_tiers(text), std::nullopt) << text;
}

}  // namespace
}  // namespace quipu::test
