// The hashes of elements.
#include "protocol/element.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

// Stored bodies mean nothing without them.
TEST(ElementHash, never_changes) {
  const HashKey salt = element_salt(HashKey{7});
  EXPECT_EQ(raw(salt), 0xd4f09ca1608583a3ULL);
  EXPECT_EQ(element_hash(salt, "visitor"), 0x11cb6032dec8680cULL);
  EXPECT_EQ(element_hash(salt, ""), 0xee22826c655f47f7ULL);
  EXPECT_NE(salt, element_salt(HashKey{8}));
}

}  // namespace
}  // namespace quipu::test
