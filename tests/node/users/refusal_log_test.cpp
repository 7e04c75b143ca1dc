#include "node/users/refusal_log.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

TEST(RefusalLog, AdmitsOneASecondForEachAddress) {
  RefusalLog log;
  std::uint64_t unlogged = 99;
  const Instant start{std::chrono::hours(1)};
  EXPECT_TRUE(log.admits(start, "a", unlogged));
  EXPECT_EQ(unlogged, 0u);
  EXPECT_FALSE(log.admits(start + std::chrono::milliseconds(1), "a", unlogged));
  EXPECT_FALSE(log.admits(start + std::chrono::milliseconds(999), "a", unlogged));
  EXPECT_TRUE(log.admits(start + std::chrono::milliseconds(999), "b", unlogged));
  EXPECT_TRUE(log.admits(start + RefusalLog::kEvery, "a", unlogged));
  EXPECT_EQ(unlogged, 2u);
}

TEST(RefusalLog, ForgetsTheLongestSilentAddressFirst) {
  RefusalLog log;
  std::uint64_t unlogged = 0;
  const Instant start{std::chrono::hours(1)};
  for (std::size_t i = 0; i < RefusalLog::kMaxAddresses; ++i)
    EXPECT_TRUE(log.admits(start + std::chrono::microseconds(i), std::to_string(i), unlogged));
  EXPECT_TRUE(log.admits(start + std::chrono::milliseconds(5), "one more", unlogged));
  EXPECT_FALSE(log.admits(start + std::chrono::milliseconds(6), "1", unlogged));  // kept
  EXPECT_TRUE(log.admits(start + std::chrono::milliseconds(6), "0", unlogged));   // forgotten
}

}  // namespace
}  // namespace quipu::test
