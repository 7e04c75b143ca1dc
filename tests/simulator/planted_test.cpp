// The simulator is judged by the bugs that it finds: each of those in planted/,
// switched on, must break a promise within 1,000 seeds.
#include "tests/simulator/planted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "tests/simulator/world.h"

namespace quipu::sim {
namespace {

constexpr std::uint64_t kSeeds = 1000;

std::vector<std::string> bugs() {
  // That one needs no patch: it is of the simulated disk.
  std::vector<std::string> names{"partial_record_replayed"};
  for (const auto& file : std::filesystem::directory_iterator(PLANTED_BUGS)) {
    if (file.path().extension() == ".patch") names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class PlantedBug : public testing::TestWithParam<std::string> {
 protected:
  ~PlantedBug() override { plant(""); }
};

TEST_P(PlantedBug, IsFoundWithinAThousandSeeds) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    plant(GetParam());
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

INSTANTIATE_TEST_SUITE_P(All, PlantedBug, testing::ValuesIn(bugs()),
                         [](const auto& bug) { return bug.param; });

}  // namespace
}  // namespace quipu::sim
