#include "cluster/replication/freshness.h"

#include <gtest/gtest.h>

namespace quipu {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(AgeInMs, StaysWithinWhatAMessageCarries) {
  EXPECT_EQ(age_in_ms(std::nullopt), kUnknownAge);
  EXPECT_EQ(age_in_ms(milliseconds(-1)), 0u);
  EXPECT_EQ(age_in_ms(hours(-24 * 365)), 0u);
  EXPECT_EQ(age_in_ms(Duration::zero()), 0u);
  EXPECT_EQ(age_in_ms(microseconds(1'999)), 1u);
  EXPECT_EQ(age_in_ms(milliseconds(kUnknownAge - 1)), kUnknownAge - 1);
  EXPECT_EQ(age_in_ms(milliseconds(kUnknownAge)), kUnknownAge - 1);
  EXPECT_EQ(age_in_ms(hours(24 * 365)), kUnknownAge - 1);
}

}  // namespace
}  // namespace quipu
