// Whole clusters under seeded faults. Every failure prints its seed, the last events
// and the command that replays it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/simulator/world.h"

namespace quipu::sim {
namespace {

void expect_sound(std::uint64_t seed) {
  const Report report = simulate(Options::draw(seed));
  EXPECT_FALSE(report.failure) << explain(report);
}

TEST(Simulator, TheFirstSeedsKeepEveryPromise) {
  for (std::uint64_t seed = 1; seed <= FIRST_SEEDS; ++seed) expect_sound(seed);
}

TEST(Simulator, WhatOnceBrokeAPromiseKeepsThemAll) {
  std::ifstream file(REGRESSIONS);
  std::size_t runs = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    ASSERT_EQ(name, "--seed") << line;
    Options options = Options::draw(std::stoull(value));
    while (words >> name >> value) ASSERT_TRUE(options.apply(name, value).ok()) << line;
    const Report report = simulate(options);
    EXPECT_FALSE(report.failure) << explain(report);
    ++runs;
  }
  EXPECT_GT(runs, 0U);
}

TEST(Simulator, TheSameSeedGivesTheSameRun) {
  for (const std::uint64_t seed : {3U, 8U, 21U}) {
    EXPECT_EQ(simulate(Options::draw(seed)).hash, simulate(Options::draw(seed)).hash)
        << "seed " << seed;
  }
}

// What a failure prints as its replay must be the run that failed.
TEST(Simulator, TheArgumentsOfARunGiveItsOptionsAgain) {
  Options options = Options::draw(5);
  options.set(Knob::crashes, !options.has(Knob::crashes));
  options.operations = 100;
  options.nodes = 4;
  std::istringstream words(options.arguments());
  std::string name, value;
  words >> name >> value;
  Options again = Options::draw(std::stoull(value));
  while (words >> name >> value) ASSERT_TRUE(again.apply(name, value).ok()) << name;
  EXPECT_EQ(again.describe(), options.describe());
  EXPECT_EQ(again.operations, options.operations);
}

}  // namespace
}  // namespace quipu::sim
