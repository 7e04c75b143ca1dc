// Whole clusters under seeded faults. Every failure prints its seed and the
// command that replays it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/simulator/world.h"

namespace quipu::sim {
namespace {

std::optional<std::uint64_t> number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

// QUIPU_SIM_SEED replays one; else the first of the fixed ones.
TEST(Simulator, OneSeed) {
  const std::string wrong = run_seed(number("QUIPU_SIM_SEED").value_or(1));
  EXPECT_TRUE(wrong.empty()) << wrong;
}

TEST(Simulator, TheFixedSeedsKeepEveryPromise) {
  for (std::uint64_t seed = 1; seed <= number("QUIPU_SIM_SEEDS").value_or(60); ++seed) {
    const std::string wrong = run_seed(seed);
    EXPECT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(Simulator, FreshSeedsKeepEveryPromise) {
  const std::uint64_t first = std::uint64_t{std::random_device{}()} << 20;
  std::cout << "fresh seeds from " << first << '\n';
  for (std::uint64_t seed = first; seed < first + 40; ++seed) {
    const std::string wrong = run_seed(seed);
    EXPECT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(Simulator, TheSameSeedGivesTheSameRun) {
  for (const std::uint64_t seed : {3U, 8U}) {
    World one(WorldOptions::draw(seed));
    World two(WorldOptions::draw(seed));
    (void)one.run();
    (void)two.run();
    EXPECT_EQ(one.trace_hash(), two.trace_hash()) << "seed " << seed;
    EXPECT_EQ(one.summary(), two.summary()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace quipu::sim
