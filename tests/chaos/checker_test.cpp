// Hand-made histories, each broken in one way: a checker that cannot fail is worthless.
#include "tests/chaos/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quipu::chaos {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Adds and reads a millisecond long, at the times given in milliseconds.
struct Story : History {
  Add& add(int at, std::string key, std::int64_t amount, Ack ack, Answer answer = Answer::ok) {
    adds.push_back({.key = std::move(key),
                    .amount = amount,
                    .ack = ack,
                    .client = 1,
                    .node = 1,
                    .invoked = milliseconds(at),
                    .ended = answer == Answer::open ? kNever : Time(milliseconds(at + 1)),
                    .answer = answer});
    return adds.back();
  }
  Add& witness(int at, std::size_t digit, Ack ack, Answer answer = Answer::ok) {
    return add(at, "witness:1", witness_amount(digit), ack, answer);
  }
  Read read(int at, std::string key, ReadLevel level, std::int64_t value) {
    return {.key = std::move(key),
            .level = level,
            .client = 2,
            .node = 2,
            .began = milliseconds(at),
            .ended = milliseconds(at + 1),
            .value = value};
  }
  // An add of an element of distinct:1.
  Add& element(int at, std::string name, Ack ack, Answer answer = Answer::ok) {
    Add& one = add(at, "distinct:1", 1, ack, answer);
    one.item = std::move(name);
    return one;
  }
  // The increment of an item by 4^digit.
  Add& item(int at, std::string key, std::string name, std::size_t digit, Ack ack,
            Answer answer = Answer::ok) {
    Add& one = add(at, std::move(key), witness_amount(digit), ack, answer);
    one.item = std::move(name);
    return one;
  }
  // Reads of a counter of items.
  Read read_items(int at, std::string key, ReadLevel level, std::vector<ItemBounds> items) {
    Read one = read(at, std::move(key), level, 0);
    for (const ItemBounds& each : items) *one.value += each.upper;
    one.items = std::move(items);
    return one;
  }
  void strong_items(int at, std::string key, std::vector<ItemBounds> items) {
    reads.push_back(read_items(at, std::move(key), ReadLevel::strong, std::move(items)));
  }
  void final_items_on(int node, std::string key, std::vector<ItemBounds> items) {
    finals.push_back(read_items(1000, std::move(key), ReadLevel::local, std::move(items)));
    finals.back().node = node;
  }
  void strong(int at, std::string key, std::int64_t value) {
    reads.push_back(read(at, std::move(key), ReadLevel::strong, value));
  }
  void complete(int at, std::string key, std::int64_t value, int age) {
    reads.push_back(read(at, std::move(key), ReadLevel::local, value));
    reads.back().complete = true;
    reads.back().age = milliseconds(age);
  }
  void final_on(int node, std::string key, std::int64_t value) {
    finals.push_back(read(1000, std::move(key), ReadLevel::local, value));
    finals.back().node = node;
  }
  void fault(int from, int to, Loss loss) {
    faults.push_back({"test", "n1", loss, milliseconds(from), milliseconds(to)});
  }
  // The titles of what is wrong, and what is said about it.
  [[nodiscard]] std::string wrong() const {
    std::string all;
    for (const Violation& one : check(*this)) all += to_text(one);
    return all;
  }
};

// What an acknowledgement need not survive.
struct LevelCase {
  Ack ack;
  Loss loss;
  bool may_be_lost;
};
constexpr LevelCase kLevelCases[] = {{Ack::memory, Loss::nothing, false},
                                     {Ack::memory, Loss::memory, true},
                                     {Ack::disk, Loss::memory, false},
                                     {Ack::disk, Loss::disk, true},
                                     {Ack::quorum, Loss::disk, false}};

TEST(Checker, ASoundHistoryIsSound) {
  Story story;
  story.witness(10, 0, Ack::quorum);
  story.witness(20, 1, Ack::disk);
  story.witness(30, 2, Ack::memory, Answer::fail);
  story.witness(40, 3, Ack::quorum, Answer::unknown);
  story.strong(15, "witness:1", 1);
  story.strong(50, "witness:1", 1 + 4 + 64);
  story.complete(60, "witness:1", 1 + 4, 10);
  story.final_on(1, "witness:1", 1 + 4 + 64);
  story.final_on(2, "witness:1", 1 + 4 + 64);
  EXPECT_EQ(story.wrong(), "");
}

TEST(Checker, AStrongReadMustHaveWhatWasAckedAtQuorumBefore) {
  Story story;
  story.witness(10, 0, Ack::quorum);
  story.witness(20, 1, Ack::quorum);
  story.strong(30, "witness:1", 1);
  const std::string wrong = story.wrong();
  EXPECT_THAT(wrong, HasSubstr("a strong read misses an add acknowledged at quorum"));
  EXPECT_THAT(wrong, HasSubstr("missing: +4 at quorum, by client 1 (prefers n1), invoked at "
                               "0.020000 s, acknowledged at 0.021000 s"));
  EXPECT_THAT(wrong, HasSubstr("strong read by client 2 (prefers n2)"));
}

TEST(Checker, AStrongReadNeedNotHaveWhatOverlapsIt) {
  Story story;
  story.witness(10, 0, Ack::quorum).ended = milliseconds(30);
  story.strong(20, "witness:1", 0);
  EXPECT_EQ(story.wrong(), "");
}

TEST(Checker, AStrongReadNeedNotHaveWhatOnlyADiskHas) {
  Story story;
  story.witness(10, 0, Ack::disk);
  story.strong(20, "witness:1", 0);
  EXPECT_EQ(story.wrong(), "");
}

TEST(Checker, AStrongReadMustHaveWhatAnEarlierOneCounted) {
  Story story;
  story.witness(10, 0, Ack::disk, Answer::unknown);
  story.strong(20, "witness:1", 1);
  story.strong(30, "witness:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("misses an add that an earlier strong read counted"));
}

TEST(Checker, OverlappingStrongReadsMayDiffer) {
  Story story;
  story.witness(10, 0, Ack::disk);
  story.strong(20, "witness:1", 1);
  story.reads.back().ended = milliseconds(40);
  story.strong(30, "witness:1", 0);
  EXPECT_EQ(story.wrong(), "");
}

TEST(Checker, ADigitOfTwoIsAnAddCountedTwice) {
  Story story;
  story.witness(10, 0, Ack::quorum);
  story.witness(10, 1, Ack::quorum, Answer::unknown);
  story.strong(30, "witness:1", 1 + 2 * 4);
  EXPECT_THAT(story.wrong(), HasSubstr("counted twice (P2)"));
  EXPECT_THAT(story.wrong(), HasSubstr("base-4 digit 1 is 2"));
}

TEST(Checker, ARefusedAddMustNotCount) {
  Story story;
  story.witness(10, 0, Ack::quorum, Answer::fail);
  story.strong(30, "witness:1", 1);
  EXPECT_THAT(story.wrong(), HasSubstr("told that it was not"));
}

TEST(Checker, NothingCountsBeforeItIsInvoked) {
  Story story;
  story.witness(50, 0, Ack::quorum);
  story.strong(30, "witness:1", 1);
  EXPECT_THAT(story.wrong(), HasSubstr("before it was invoked"));
}

TEST(Checker, ATotalOfWhatNobodyAddedIsWrong) {
  Story story;
  story.witness(10, 0, Ack::quorum);
  story.strong(30, "witness:1", 5);
  EXPECT_THAT(story.wrong(), HasSubstr("what nobody added"));
}

TEST(Checker, APlainTotalStaysWithinItsBounds) {
  struct Case {
    std::int64_t value;
    bool sound;
  };
  // Must: +10 -3. May: +5 (not acked), -2 (at disk only).
  for (const Case one : {Case{4, false}, {5, true}, {7, true}, {12, true}, {13, false}}) {
    Story story;
    story.add(10, "plain", 10, Ack::quorum);
    story.add(11, "plain", -3, Ack::quorum);
    story.add(12, "plain", 5, Ack::quorum, Answer::open);
    story.add(13, "plain", -2, Ack::disk);
    story.add(14, "plain", 100, Ack::quorum, Answer::fail);
    story.strong(30, "plain", one.value);
    EXPECT_EQ(story.wrong().empty(), one.sound) << one.value << "\n" << story.wrong();
  }
}

TEST(Checker, ACompleteLocalReadMissesOnlyWhatIsYoungerThanItsAge) {
  for (const int age : {5, 50}) {
    Story story;
    story.witness(10, 0, Ack::disk);
    story.complete(30, "witness:1", 0, age);
    EXPECT_EQ(story.wrong().empty(), age == 50) << age;
  }
}

TEST(Checker, AfterHealingAllNodesAgree) {
  Story story;
  story.witness(10, 0, Ack::memory, Answer::unknown);
  story.final_on(1, "witness:1", 1);
  story.final_on(2, "witness:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("do not agree after healing"));
}

TEST(Checker, AfterHealingAKeyCanBeReadOnEveryNode) {
  Story story;
  story.witness(10, 0, Ack::disk);
  story.final_on(1, "witness:1", 1);
  story.finals.back().value.reset();
  EXPECT_THAT(story.wrong(), HasSubstr("cannot be read after healing"));
}

TEST(Checker, AfterHealingAnAckSurvivesWhatItsLevelPromises) {
  for (const LevelCase& one : kLevelCases) {
    Story story;
    story.witness(10, 0, one.ack);
    story.fault(20, 30, one.loss);
    story.final_on(1, "witness:1", 0);
    EXPECT_EQ(story.wrong().empty(), one.may_be_lost) << to_text(one.ack);
  }
}

TEST(Checker, ALostDiskExcusesNoAddThatCameAfterIt) {
  Story story;
  story.fault(20, 30, Loss::disk);
  story.witness(40, 0, Ack::disk);
  story.final_on(1, "witness:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("lost after healing"));
}

TEST(Checker, AViolationNamesTheFaultsAround) {
  Story story;
  story.fault(5, 15, Loss::memory);
  story.witness(10, 0, Ack::quorum);
  story.fault(25, 35, Loss::nothing);
  story.fault(50, 60, Loss::disk);
  story.strong(30, "witness:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("fault since the key's first add: test, n1, from 0.005000"));
  EXPECT_THAT(story.wrong(), HasSubstr("fault during the read: test, n1, from 0.025000"));
  EXPECT_THAT(story.wrong(), Not(HasSubstr("0.050000")));
}

// ---- elements ----

TEST(CheckerOfElements, ASoundHistoryIsSound) {
  Story story;
  story.element(10, "k0", Ack::quorum);
  story.element(12, "k0", Ack::disk);
  story.element(14, "k1", Ack::disk);
  story.element(16, "k2", Ack::memory, Answer::fail);
  story.strong(20, "distinct:1", 2);
  story.complete(30, "distinct:1", 2, 5);
  story.final_on(1, "distinct:1", 2);
  story.final_on(2, "distinct:1", 2);
  EXPECT_EQ(story.wrong(), "");
}

TEST(CheckerOfElements, AStrongCountStaysWithinItsBounds) {
  struct Case {
    std::int64_t value;
    const char* wrong;
  };
  // Must: k0, k1. May: k2 (at disk only), k3 (in doubt). Not: k4 (refused), k5 (not invoked yet).
  for (const Case one : {Case{1, "misses an add acknowledged at quorum"},
                         {2, ""},
                         {4, ""},
                         {5, "more elements are counted than were added (P2)"}}) {
    Story story;
    story.element(10, "k0", Ack::quorum);
    story.element(11, "k1", Ack::quorum);
    story.element(12, "k2", Ack::disk);
    story.element(13, "k3", Ack::quorum, Answer::unknown);
    story.element(14, "k4", Ack::quorum, Answer::fail);
    story.element(50, "k5", Ack::quorum);
    story.strong(30, "distinct:1", one.value);
    EXPECT_EQ(story.wrong().empty(), *one.wrong == '\0') << one.value;
    EXPECT_THAT(story.wrong(), HasSubstr(one.wrong)) << one.value;
  }
}

TEST(CheckerOfElements, AnElementThatComesAgainCountsOnce) {
  Story story;
  story.element(10, "k0", Ack::quorum);
  story.element(12, "k0", Ack::quorum);
  story.strong(20, "distinct:1", 2);
  EXPECT_THAT(story.wrong(), HasSubstr("more elements are counted than were added (P2)"));
  EXPECT_THAT(story.wrong(), HasSubstr("bounds: 1 elements to 1"));
}

TEST(CheckerOfElements, AnElementMustCountIfAnyOfItsAddsMust) {
  for (const bool first : {true, false}) {
    Story story;
    story.element(10, "k0", first ? Ack::quorum : Ack::memory);
    story.element(12, "k0", first ? Ack::memory : Ack::quorum);
    story.strong(20, "distinct:1", 0);
    EXPECT_THAT(story.wrong(), HasSubstr("too few elements")) << first;
  }
}

TEST(CheckerOfElements, AStrongReadCountsNoFewerThanAnEarlierOne) {
  Story story;
  story.element(10, "k0", Ack::disk, Answer::unknown);
  story.strong(20, "distinct:1", 1);
  story.strong(30, "distinct:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("counts fewer elements than an earlier strong read (P4)"));
  story.reads.front().ended = milliseconds(40);  // they overlap
  EXPECT_EQ(story.wrong(), "");
}

TEST(CheckerOfElements, ACompleteLocalReadMissesOnlyWhatIsYoungerThanItsAge) {
  for (const int age : {5, 50}) {
    Story story;
    story.element(10, "k0", Ack::disk);
    story.complete(30, "distinct:1", 0, age);
    EXPECT_EQ(story.wrong().empty(), age == 50) << age;
  }
}

TEST(CheckerOfElements, AfterHealingAllNodesAgree) {
  Story story;
  story.element(10, "k0", Ack::memory, Answer::unknown);
  story.final_on(1, "distinct:1", 1);
  story.final_on(2, "distinct:1", 0);
  EXPECT_THAT(story.wrong(), HasSubstr("do not agree after healing"));
}

TEST(CheckerOfElements, AfterHealingAnAckSurvivesWhatItsLevelPromises) {
  for (const LevelCase& one : kLevelCases) {
    Story story;
    story.element(10, "k0", one.ack);
    story.fault(20, 30, one.loss);
    story.final_on(1, "distinct:1", 0);
    EXPECT_EQ(story.wrong().empty(), one.may_be_lost) << to_text(one.ack);
  }
}

// ---- items ----

class CheckerOfItems : public testing::TestWithParam<const char*> {
 protected:
  const std::string key_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Kinds, CheckerOfItems, testing::Values("frequency:1", "top:1"));

TEST_P(CheckerOfItems, ASoundHistoryIsSound) {
  Story story;
  story.item(10, key_, "a", 0, Ack::quorum);
  story.item(11, key_, "b", 0, Ack::quorum);
  story.item(12, key_, "b", 1, Ack::disk, Answer::unknown);
  story.item(13, key_, "c", 0, Ack::disk, Answer::fail);
  story.strong_items(20, key_, {{"b", 5, 5}, {"a", 1, 1}});
  story.final_items_on(1, key_, {{"b", 5, 5}, {"a", 1, 1}});
  story.final_items_on(2, key_, {{"b", 5, 5}, {"a", 1, 1}});
  EXPECT_EQ(story.wrong(), "");
}

TEST_P(CheckerOfItems, EachItemIsAWitnessOfItsOwn) {
  struct Case {
    std::vector<ItemBounds> items;
    const char* wrong;
  };
  const Case cases[] = {
      {{{"b", 1, 1}}, "a strong read misses an add acknowledged at quorum"},  // a is absent
      {{{"a", 1, 1}}, "a strong read misses an add acknowledged at quorum"},  // b's has its own
      {{{"a", 2, 2}, {"b", 1, 1}}, "counted twice (P2)"},
      {{{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}}, "told that it was not"},
      {{{"a", 1, 1}, {"b", 1, 1}, {"d", 1, 1}}, "before it was invoked"},
      {{{"a", 5, 5}, {"b", 1, 1}}, "what nobody added"},
      {{{"a", 1, 1}, {"b", 1, 1}, {"e", 1, 1}}, "what nobody added"},  // no such item was added
      {{{"a", -1, -1}, {"b", 1, 1}}, "what nobody added"},             // above 2^63 - 1
      {{{"a", 0, 1}, {"b", 1, 1}}, "does not know a count exactly"},
  };
  for (const Case& one : cases) {
    Story story;
    story.item(10, key_, "a", 0, Ack::quorum);
    story.item(11, key_, "b", 0, Ack::quorum);
    story.item(12, key_, "c", 0, Ack::quorum, Answer::fail);
    story.item(50, key_, "d", 0, Ack::quorum);
    story.strong_items(30, key_, one.items);
    EXPECT_THAT(story.wrong(), HasSubstr(one.wrong));
    EXPECT_THAT(story.wrong(), HasSubstr("key " + key_ + "/"));
  }
}

TEST_P(CheckerOfItems, AStrongReadMustHaveWhatAnEarlierOneCounted) {
  Story story;
  story.item(10, key_, "a", 0, Ack::disk, Answer::unknown);
  story.strong_items(20, key_, {{"a", 1, 1}});
  story.strong_items(30, key_, {});
  EXPECT_THAT(story.wrong(), HasSubstr("misses an add that an earlier strong read counted"));
}

TEST_P(CheckerOfItems, ACompleteLocalReadMissesOnlyWhatIsYoungerThanItsAge) {
  for (const int age : {5, 50}) {
    Story story;
    story.item(10, key_, "a", 0, Ack::disk);
    story.complete(30, key_, 0, age);
    EXPECT_EQ(story.wrong().empty(), age == 50) << age;
  }
}

TEST_P(CheckerOfItems, AfterHealingAllNodesAgreeOnEachItem) {
  Story story;
  story.item(10, key_, "a", 0, Ack::memory, Answer::unknown);
  story.item(11, key_, "b", 0, Ack::memory, Answer::unknown);
  story.final_items_on(1, key_, {{"a", 1, 1}});
  story.final_items_on(2, key_, {{"b", 1, 1}});
  EXPECT_THAT(story.wrong(), HasSubstr("do not agree after healing"));
}

TEST_P(CheckerOfItems, AfterHealingAKeyCanBeReadOnEveryNode) {
  Story story;
  story.item(10, key_, "a", 0, Ack::disk);
  story.final_items_on(1, key_, {{"a", 1, 1}});
  story.finals.push_back(story.read(1000, key_, ReadLevel::local, 0));
  story.finals.back().value.reset();
  EXPECT_THAT(story.wrong(), HasSubstr("cannot be read after healing"));
}

TEST_P(CheckerOfItems, AfterHealingAnAckSurvivesWhatItsLevelPromises) {
  for (const LevelCase& one : kLevelCases) {
    Story story;
    story.item(10, key_, "a", 0, one.ack);
    story.fault(20, 30, one.loss);
    story.final_items_on(1, key_, {});
    EXPECT_EQ(story.wrong().empty(), one.may_be_lost) << to_text(one.ack);
  }
}

TEST(Validity, ARunThatTestedNothingIsInvalid) {
  Story quiet;
  for (int i = 0; i < 500; ++i) quiet.add(i, "plain", 1, Ack::disk);
  EXPECT_EQ(why_invalid(quiet, {}), "no fault was injected");
  quiet.fault(2000, 3000, Loss::memory);
  EXPECT_EQ(why_invalid(quiet, {}), "no fault overlapped an operation");
  Story busy = quiet;
  busy.add(2500, "plain", 1, Ack::disk);
  EXPECT_EQ(why_invalid(busy, {}), "");
  Story slow;
  for (int i = 0; i < 50; ++i) slow.add(i * 20, "plain", 1, Ack::disk);
  slow.fault(900, 1000, Loss::memory);
  EXPECT_THAT(why_invalid(slow, {}), HasSubstr("operations/s before the first fault"));
}

}  // namespace
}  // namespace quipu::chaos
