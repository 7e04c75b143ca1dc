// The table of kinds.
#include "storage/kinds/kind.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

TEST(KindTable, has_a_row_for_each_kind_but_the_sum) {
  for (const Kind kind : kKinds) {
    if (kind == Kind::sum) continue;
    EXPECT_STREQ(rules_of(kind).name, name_of(kind));
  }
}

}  // namespace
}  // namespace quipu::test
