// The simulator is judged by the bugs that it finds: each of those in planted/,
// switched on, must break a promise within 1,000 seeds. The seed at which it was last
// found is tried first (planted/seeds.txt), since most of them find nothing.
#include "tests/simulator/planted.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <numeric>

#include "tests/simulator/world.h"

namespace quipu::sim {
namespace {

constexpr std::uint64_t kSeeds = 1000;

std::vector<std::uint64_t> seeds_for(const std::string& bug) {
  std::vector<std::uint64_t> seeds(kSeeds);
  std::iota(seeds.begin(), seeds.end(), 1);
  std::ifstream known(PLANTED_SEEDS);
  std::string name;
  for (std::uint64_t seed = 0; known >> name >> seed;) {
    if (name == bug && seed <= kSeeds) seeds.insert(seeds.begin(), seed);
  }
  return seeds;
}

class PlantedBug : public testing::TestWithParam<std::string> {
 protected:
  ~PlantedBug() override { plant(""); }
};

TEST_P(PlantedBug, IsFoundWithinAThousandSeeds) {
  for (const std::uint64_t seed : seeds_for(GetParam())) {
    ASSERT_TRUE(plant(GetParam()));
    const Report report = simulate(Options::draw(seed));
    if (!report.failure) continue;
    std::cout << GetParam() << ": found at seed " << seed << " by "
              << describe(report.failure.invariant).name << '\n';
    plant("");
    const Report sound = simulate(Options::draw(seed));
    EXPECT_FALSE(sound.failure) << "without the bug, too:\n" << explain(sound);
    return;
  }
  ADD_FAILURE() << GetParam() << " was not found in " << kSeeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBug, testing::ValuesIn(planted_bugs()),
                         [](const auto& bug) { return bug.param; });

}  // namespace
}  // namespace quipu::sim
