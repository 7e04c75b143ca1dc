#include "protocol/check.h"

#include <gtest/gtest.h>

#include "protocol/ids.h"

namespace quipu {
namespace {

TEST(Check, SaysWhatIsViolatedWhereAndWithWhichValues) {
  const Commit commit{9};
  const int left = -3;
  const auto failing = [&] {
    QUIPU_CHECK(left == 0, "all was handed out", left, commit, std::string_view("likes:42"),
                std::max(1, 2));
  };
  EXPECT_DEATH(failing(),
               "check failed: left == 0\n"
               "  all was handed out\n"
               "  left = -3, commit = 9, std::string_view.\"likes:42\". = \"likes:42\", "
               "std::max.1, 2. = 2\n"
               "  .*tests/protocol/check_test.cpp:[0-9]+, in operator");
}

TEST(Check, ThrowsWhereTheSimulatorAsksForIt) {
  {
    const ChecksThrow outer;
    { const ChecksThrow inner; }
    try {
      QUIPU_CHECK(false, "never");
      FAIL() << "it went on";
    } catch (const CheckFailure& failure) {
      EXPECT_EQ(std::string(failure.what()).substr(0, 26), "check failed: false\n  neve");
    }
  }
  EXPECT_DEATH(QUIPU_CHECK(false, "never"), "never");
}

TEST(Check, DoesNothingWhereTheConditionHolds) {
  int evaluated = 0;
  QUIPU_CHECK(++evaluated == 1, "evaluated once", evaluated);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace quipu
