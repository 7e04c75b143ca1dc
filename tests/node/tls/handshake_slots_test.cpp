#include "node/tls/handshake_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace quipu::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Id = HandshakeSlots::Id;

class HandshakeSlotsTest : public testing::Test {
 protected:
  // A number of connections from one address. Returns the first one's id.
  std::uint64_t arrive(const std::string& from, std::size_t count) {
    const std::uint64_t first = next_;
    for (std::size_t i = 0; i < count; ++i) slots_.arrived(now_, Id{next_++}, from);
    for (const Id id : slots_.take_ready()) waits_since_[id] = now_;
    return first;
  }
  std::vector<Id> late() {
    return slots_.take_late(now_, [this](Id id) { return waits_since_.at(id); });
  }

  HandshakeSlots slots_;
  Instant now_{std::chrono::hours(1)};
  std::uint64_t next_ = 1;
  std::map<Id, Instant> waits_since_;
};

TEST_F(HandshakeSlotsTest, LetAPoolOfOneAddressGoOneAfterTheOther) {
  arrive("a", 500);
  EXPECT_EQ(slots_.under_way(), HandshakeSlots::kMostOfAnAddress);
  EXPECT_TRUE(slots_.waiting());
  std::size_t done = 0;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    ASSERT_TRUE(waits_since_.contains(Id{i})) << "they begin in their order";
    slots_.ended(Id{i});
    for (const Id id : slots_.take_ready()) waits_since_[id] = now_;
    ++done;
  }
  EXPECT_EQ(done, 500u);
  EXPECT_FALSE(slots_.waiting());
  EXPECT_EQ(slots_.under_way(), 0u);
}

TEST_F(HandshakeSlotsTest, MakeNoRoomWhileClientsAnswerWithinASecond) {
  arrive("a", HandshakeSlots::kMostOfAnAddress + 1);
  now_ += 1s;
  EXPECT_THAT(late(), IsEmpty());
  waits_since_[Id{3}] = now_;
  now_ += 1ms;
  waits_since_[Id{1}] = now_;
  EXPECT_THAT(late(), ElementsAre(Id{2})) << "the oldest that waits for its client";
  EXPECT_THAT(slots_.take_ready(), ElementsAre(Id{65}));
  EXPECT_THAT(late(), IsEmpty()) << "nobody waits any more";
}

TEST_F(HandshakeSlotsTest, OfOneAddressLeaveThoseOfOthersAlone) {
  const std::uint64_t b = arrive("b", 1);
  arrive("a", HandshakeSlots::kMostOfAnAddress + 2);
  now_ += 2s;
  EXPECT_THAT(late(), ElementsAre(Id{2}, Id{3}));
  slots_.ended(Id{b});
}

TEST_F(HandshakeSlotsTest, AreTakenFromTheAddressThatHasMost) {
  for (const char* const from : {"a", "b", "c"}) arrive(from, HandshakeSlots::kMostOfAnAddress - 1);
  const std::uint64_t d = arrive("d", HandshakeSlots::kMostOfAnAddress);
  arrive("e", HandshakeSlots::kMost - 3 * (HandshakeSlots::kMostOfAnAddress - 1) -
                  HandshakeSlots::kMostOfAnAddress);
  EXPECT_EQ(slots_.under_way(), HandshakeSlots::kMost);
  const std::uint64_t probe = arrive("f", 1);
  EXPECT_FALSE(waits_since_.contains(Id{probe}));
  now_ += 2s;
  EXPECT_THAT(late(), ElementsAre(Id{d}));
  EXPECT_THAT(slots_.take_ready(), ElementsAre(Id{probe}));
}

TEST_F(HandshakeSlotsTest, EndTheOldestOfTheAddressThatHasMostIfThereIsNoRoomAtAll) {
  const auto any = [](Id) { return true; };
  EXPECT_EQ(slots_.take_oldest(any), std::nullopt);
  arrive("b", 3);
  const std::uint64_t a = arrive("a", HandshakeSlots::kMostOfAnAddress + 5);
  EXPECT_EQ(slots_.take_oldest(any), Id{a});
  EXPECT_EQ(slots_.take_oldest(any), Id{a + 1});
  EXPECT_THAT(slots_.take_ready(), ElementsAre(Id{a + 64}, Id{a + 65})) << "in their places";
  EXPECT_EQ(slots_.take_oldest([](Id id) { return id == Id{2}; }), Id{2}) << "of another port";
  for (std::size_t left = 69; left > 0; --left) EXPECT_TRUE(slots_.take_oldest(any)) << left;
  EXPECT_EQ(slots_.take_oldest(any), std::nullopt);
  EXPECT_FALSE(slots_.waiting());
  EXPECT_EQ(slots_.under_way(), 0u);
}

TEST_F(HandshakeSlotsTest, AreNotWaitedForForEver) {
  arrive("a", HandshakeSlots::kMostOfAnAddress + 1);
  const std::uint64_t last = next_ - 1;
  now_ += 10s + 1ms;
  for (auto& [id, since] : waits_since_) since = now_;
  EXPECT_THAT(late(), ElementsAre(Id{last}));
  EXPECT_FALSE(slots_.waiting());
}

}  // namespace
}  // namespace quipu::test
