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
  struct Case {
    Ack ack;
    Loss loss;
    bool may_be_lost;
  };
  for (const Case one : {Case{Ack::memory, Loss::nothing, false},
                         {Ack::memory, Loss::memory, true},
                         {Ack::disk, Loss::memory, false},
                         {Ack::disk, Loss::disk, true},
                         {Ack::quorum, Loss::disk, false}}) {
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
