#include "node/admin/admin_connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kNow{seconds(100)};
constexpr int kMostOfOne = AdminConnections::kMostOfAnAddress;

TEST(AdminConnections, TheOldestOfAnAddressMakesRoomForItsNewest) {
  AdminConnections connections;
  EXPECT_FALSE(connections.opened(kNow, 99, "probe"));
  for (int i = 0; i < kMostOfOne; ++i) EXPECT_FALSE(connections.opened(kNow, i, "slow"));
  EXPECT_EQ(connections.opened(kNow, kMostOfOne, "slow"), 0);
  EXPECT_EQ(connections.opened(kNow, kMostOfOne + 1, "slow"), 1);
  connections.closed(2);
  EXPECT_FALSE(connections.opened(kNow, 2, "slow"));
}

TEST(AdminConnections, AmongManyAddressesThatWithMostMakesRoom) {
  AdminConnections connections;
  const int most = AdminConnections::kMost;
  for (int i = 0; i < most - 2; ++i) EXPECT_FALSE(connections.opened(kNow, i, std::to_string(i)));
  EXPECT_FALSE(connections.opened(kNow, 100, "two"));
  EXPECT_FALSE(connections.opened(kNow, 101, "two"));
  EXPECT_EQ(connections.opened(kNow, 102, "probe"), 100);
  EXPECT_EQ(connections.opened(kNow, 103, "another"), 0);  // all have one: the oldest
}

TEST(AdminConnections, WhatTakesTooLongIsEndedOnce) {
  AdminConnections connections;
  EXPECT_FALSE(connections.opened(kNow, 1, "a"));
  EXPECT_FALSE(connections.opened(kNow + seconds(1), 2, "a"));
  EXPECT_THAT(connections.take_old(kNow + AdminConnections::kMostAge), IsEmpty());
  EXPECT_THAT(connections.take_old(kNow + seconds(6)), ElementsAre(1));
  EXPECT_THAT(connections.take_old(kNow + seconds(6)), IsEmpty());
  EXPECT_THAT(connections.take_old(kNow + seconds(99)), ElementsAre(2));
}

}  // namespace
}  // namespace quipu::test
