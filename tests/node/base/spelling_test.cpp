#include "node/base/spelling.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

const std::vector<std::string> kKnown{"add", "get", "ingest", "reset"};

TEST(Spelling, TheNearestKnownWordIsMeant) {
  EXPECT_EQ(nearest_word("ad", kKnown, 1), "add");
  EXPECT_EQ(nearest_word("addd", kKnown, 1), "add");
  EXPECT_EQ(nearest_word("gat", kKnown, 1), "get");
  EXPECT_EQ(nearest_word("ingets", kKnown, 2), "ingest");
  EXPECT_EQ(nearest_word("get", kKnown, 0), "get");
}

TEST(Spelling, AWordThatIsTooFarAwayIsNone) {
  EXPECT_EQ(nearest_word("ingets", kKnown, 1), std::nullopt);
  EXPECT_EQ(nearest_word("", kKnown, 2), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(1'000'000, 'a'), kKnown, 2), std::nullopt);
  EXPECT_EQ(nearest_word("add", {}, 2), std::nullopt);
}

}  // namespace
}  // namespace quipu::test
