// What meet() refuses of a peer's Hello, whatever its bytes say.
#include "cluster/membership/pins.h"

#include <gtest/gtest.h>

namespace quipu {
namespace {

const NodeId kHere = node_id("here");
const NodeId kThere = node_id("there");
constexpr StoreId kMine{1};
constexpr StoreId kTheirs{2};

Pins founded() {
  Pins pins;
  pins.founding = {{kHere, kMine, 1}, {kThere, kTheirs, 1}};
  found(pins);
  return pins;
}

Hello hello(StoreId store) {
  Hello hello;
  hello.node = kThere;
  hello.store = store;
  hello.pins = founded();
  return hello;
}

class Meeting : public testing::Test {
 protected:
  PinResult meet(const Hello& hello) { return quipu::meet(pins_, {kHere, kMine, false}, hello); }
  void expect_refused(const Hello& hello, const std::string& why) {
    const PinResult result = meet(hello);
    EXPECT_NE(result.refusal.find(why), std::string::npos) << result.refusal;
    EXPECT_FALSE(result.changed);
    EXPECT_EQ(pins_, founded());
  }
  Pins pins_ = founded();
};

TEST_F(Meeting, TakesAPeerOfTheSameFounding) {
  EXPECT_EQ(meet(hello(kTheirs)).refusal, "");
  EXPECT_EQ(pins_, founded());
}

TEST_F(Meeting, RefusesAReplacementThatIsNoStore) {
  Hello none = hello(StoreId{});
  none.marked = true;
  expect_refused(none, "names no store");
}

TEST_F(Meeting, RefusesPinsThatAreNoStores) {
  Hello none = hello(kTheirs);
  none.pins.current[0] = {kHere, StoreId{}, 9};
  expect_refused(none, "names no store");
}

// Two Hellos with half of them each are enough, so the sum has the bound.
TEST_F(Meeting, RefusesMoreReplacedStoresThanAHelloHasRoomFor) {
  Hello many = hello(kTheirs);
  for (std::uint64_t store = 10; many.pins.retired.size() < kMaxRetired; ++store)
    many.pins.retired.push_back(StoreId{store});
  EXPECT_EQ(meet(many).refusal, "");
  const Pins before = pins_;
  many.pins.retired = {StoreId{5}};
  EXPECT_NE(meet(many).refusal, "");
  EXPECT_EQ(pins_, before);
}

}  // namespace
}  // namespace quipu
