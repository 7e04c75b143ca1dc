#include "cluster/reads/owner_set.h"

#include <gtest/gtest.h>

#include <array>

namespace quipu {
namespace {

TEST(OwnerSet, HoldsOwnersOfItsPartitionAlone) {
  const std::array<MemberIndex, 3> owners{7, 2, 5};
  OwnerSet some;
  EXPECT_TRUE(some.empty());
  for (const MemberIndex stranger : std::array<MemberIndex, 4>{0, 1, 3, 6}) {
    EXPECT_TRUE(OwnerSet(owners, stranger).empty());
    some |= OwnerSet(owners, stranger);
  }
  EXPECT_EQ(some.size(), 0u);
  some |= OwnerSet(owners, 7);
  some |= OwnerSet(owners, 5);
  some |= OwnerSet(owners, 5);
  EXPECT_EQ(some.size(), 2u);
  EXPECT_TRUE(some.meets(OwnerSet(owners, 7)));
  EXPECT_FALSE(some.meets(OwnerSet(owners, 2)));
  some -= OwnerSet(owners, 2);
  EXPECT_EQ(some.size(), 2u);
  some -= OwnerSet(owners, 7);
  EXPECT_FALSE(some.meets(OwnerSet(owners, 7)));
  EXPECT_TRUE(some.meets(OwnerSet(owners, 5)));
}

}  // namespace
}  // namespace quipu
