#include "protocol/random.h"

#include <gtest/gtest.h>

#include <array>

#include "protocol/ids.h"

namespace quipu {
namespace {

TEST(Random, repeats_itself_for_a_seed_and_differs_between_seeds) {
  Random a(1), b(1), c(2);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t n = a.next();
    EXPECT_EQ(n, b.next());
    EXPECT_NE(n, c.next());
  }
}

// A changed generator would make every recorded seed of the simulator worthless.
TEST(Random, never_changes_its_sequence) {
  Random random(42);
  EXPECT_EQ(random.next(), 0x15780b2e0c2ec716U);
  EXPECT_EQ(random.next(), 0x6104d9866d113a7eU);
}

TEST(Random, stays_below_its_bound_and_reaches_all_of_it) {
  Random random(7);
  EXPECT_EQ(random.below(1), 0U);
  std::array<int, 10> seen{};
  for (int i = 0; i < 10'000; ++i) ++seen.at(random.below(10));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 200);
}

TEST(Random, splits_into_an_independent_generator) {
  Random random(7);
  Random split = random.split();
  EXPECT_NE(random.next(), split.next());
  EXPECT_NE(raw(random.id<ActorId>()), 0U);
}

}  // namespace
}  // namespace quipu
