// Which units of a body changed.
#include "storage/kinds/units.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace quipu::test {
namespace {

std::vector<Unit> list(const Units& units) { return {units.some().begin(), units.some().end()}; }

RC_GTEST_PROP(Units, are_a_set_in_order, ()) {
  const auto added = *rc::gen::container<std::vector<Unit>>(rc::gen::inRange<Unit>(0, 300));
  const auto more = *rc::gen::container<std::vector<Unit>>(rc::gen::inRange<Unit>(0, 300));
  std::set<Unit> expected(added.begin(), added.end());
  Units units, others;
  units.are_of(12 * 600);
  for (const Unit unit : added) {
    units.add(unit);
    if (*rc::gen::inRange(0, 8) == 0) static_cast<void>(units.some());
  }
  RC_ASSERT(list(units) == std::vector<Unit>(expected.begin(), expected.end()));
  for (const Unit unit : more) others.add(unit);
  units.add(others);
  if (others.all()) {
    RC_ASSERT(units.all());
  } else {
    expected.insert(more.begin(), more.end());
    RC_ASSERT(list(units) == std::vector<Unit>(expected.begin(), expected.end()));
  }
}

TEST(Units, are_all_once_there_are_more_than_64_of_a_small_body) {
  Units units;
  units.are_of(700);
  for (int round = 0; round < 100; ++round)
    for (Unit unit = 0; unit < 64; ++unit) units.add(unit);
  EXPECT_FALSE(units.all()) << "64, again and again";
  for (Unit unit = 64; unit < 129; ++unit) units.add(unit);
  EXPECT_TRUE(units.all());
}

// So that what travels is bounded by 12 bytes for each.
TEST(Units, are_all_once_they_are_more_than_a_twelfth_of_the_bytes_of_a_large_body) {
  Units units;
  units.are_of(12 * 1000);
  for (Unit unit = 0; unit < 1000; ++unit) units.add(unit);
  EXPECT_EQ(units.some().size(), 1000u);
  for (Unit unit = 1000; unit < 2001; ++unit) units.add(unit);
  EXPECT_TRUE(units.all());
  EXPECT_TRUE(units == Units::every());
}

}  // namespace
}  // namespace quipu::test
