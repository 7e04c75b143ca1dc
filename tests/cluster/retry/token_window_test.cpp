#include "cluster/retry/token_window.h"

#include <gtest/gtest.h>

#include <set>

#include "protocol/random.h"

namespace quipu {
namespace {

TokenWindow window() { return TokenWindow(StoreId{7}, Serial{9}); }

TEST(TokenWindow, NumbersCountUpFromOneAndNameTheSession) {
  TokenWindow w = window();
  EXPECT_EQ(w.take(), (Token{.store = StoreId{7}, .serial = Serial{9}, .number = 1, .floor = 1}));
  EXPECT_EQ(w.take(), (Token{.store = StoreId{7}, .serial = Serial{9}, .number = 2, .floor = 1}));
}

TEST(TokenWindow, TheFloorIsTheLowestOutstandingNumberOrTheNext) {
  TokenWindow w = window();
  EXPECT_EQ(w.floor(), 1u);
  for (int i = 0; i < 4; ++i) static_cast<void>(w.take());
  w.settle(2);
  w.settle(3);
  EXPECT_EQ(w.floor(), 1u);
  w.settle(1);
  EXPECT_EQ(w.floor(), 4u);
  EXPECT_FALSE(w.idle());
  w.settle(4);
  EXPECT_EQ(w.floor(), 5u);
  EXPECT_TRUE(w.idle());
}

TEST(TokenWindow, SettlingTwiceOrWhatWasNeverTakenDoesNothing) {
  TokenWindow w = window();
  static_cast<void>(w.take());
  w.settle(0);
  w.settle(2);
  EXPECT_EQ(w.floor(), 1u);
  w.settle(1);
  w.settle(1);
  EXPECT_EQ(w.floor(), 2u);
  EXPECT_EQ(w.take().number, 2u);
}

TEST(TokenWindow, IsFullWhenOneOutstandingNumberHoldsAllOthersBack) {
  TokenWindow w = window();
  for (std::uint64_t n = 1; n <= TokenWindow::kWindow; ++n) {
    ASSERT_FALSE(w.full()) << n;
    ASSERT_EQ(w.take().number, n);
    if (n > 1) w.settle(n);
  }
  EXPECT_TRUE(w.full());
  w.settle(1);
  EXPECT_FALSE(w.full());
  EXPECT_EQ(w.floor(), TokenWindow::kWindow + 1);
}

TEST(TokenWindow, AgreesWithASetUnderRandomUse) {
  constexpr std::uint64_t kSeed = 20240607;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  TokenWindow w = window();
  std::set<std::uint64_t> outstanding;
  std::uint64_t next = 1;
  for (int step = 0; step < 200'000; ++step) {
    if (!w.full() && random.below(2) == 0) {
      ASSERT_EQ(w.take().number, next);
      outstanding.insert(next++);
    } else if (!outstanding.empty()) {
      const auto at = outstanding.lower_bound(*outstanding.begin() + random.below(64));
      const std::uint64_t number = at == outstanding.end() ? *outstanding.begin() : *at;
      w.settle(number);
      outstanding.erase(number);
    }
    ASSERT_EQ(w.floor(), outstanding.empty() ? next : *outstanding.begin());
  }
}

}  // namespace
}  // namespace quipu
