#include "node/users/refusal_log.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

constexpr Instant kStart{std::chrono::hours(1)};
using std::chrono::milliseconds;

TEST(RefusalLog, AdmitsOneASecondForEachAddress) {
  RefusalLog log;
  EXPECT_EQ(log.admit(kStart, "a"), 0u);
  EXPECT_FALSE(log.admit(kStart + milliseconds(1), "a"));
  EXPECT_FALSE(log.admit(kStart + milliseconds(999), "a"));
  EXPECT_EQ(log.admit(kStart + milliseconds(999), "b"), 2u);
  EXPECT_EQ(log.admit(kStart + RefusalLog::kEvery, "a"), 0u);
}

TEST(RefusalLog, AdmitsFewInASecondOfAllAddresses) {
  RefusalLog log;
  for (std::uint32_t i = 0; i < RefusalLog::kMostASecond; ++i)
    EXPECT_TRUE(log.admit(kStart, std::to_string(i)));
  for (int i = 100; i < 200; ++i) EXPECT_FALSE(log.admit(kStart, std::to_string(i)));
  EXPECT_EQ(log.admit(kStart + RefusalLog::kEvery, "more"), 100u);
}

TEST(RefusalLog, ForgetsTheAddressThatWasLoggedLongestAgo) {
  RefusalLog log;
  const milliseconds step{100};  // ten a second
  for (std::size_t i = 0; i < RefusalLog::kMaxAddresses; ++i)
    EXPECT_TRUE(log.admit(kStart + i * step, std::to_string(i)));
  const Instant end = kStart + RefusalLog::kMaxAddresses * step;
  EXPECT_TRUE(log.admit(end, "one more"));
  EXPECT_FALSE(log.admit(end + milliseconds(1), std::to_string(RefusalLog::kMaxAddresses - 1)));
}

}  // namespace
}  // namespace quipu::test
