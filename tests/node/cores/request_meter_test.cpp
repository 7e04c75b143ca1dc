// How requests of clients are counted and timed.
#include "node/cores/request_meter.h"

#include <gtest/gtest.h>

namespace quipu::test {
namespace {

using std::chrono::milliseconds;

constexpr Instant at(int ms) { return Instant(std::chrono::hours(1) + milliseconds(ms)); }

std::vector<AtOnce> known(std::size_t count, Operation operation, Commit after = {},
                          Code code = Code::ok) {
  std::vector<AtOnce> all;
  for (std::size_t i = 0; i < count; ++i) {
    Done done{.id = i, .code = code};
    done.asked = {at(0), operation};
    all.emplace_back(std::move(done), after);
  }
  return all;
}

// Of plain adds, which say nothing of what was asked.
std::vector<AtOnce> plain(std::size_t count, Commit after = {}) {
  std::vector<AtOnce> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(i, ShardIndex{1}, 1, after);
  return all;
}

Coordinator::PlainAdds plain_adds(Ack ack, std::uint64_t count) {
  Coordinator::PlainAdds adds{};
  adds[static_cast<std::size_t>(ack)] = count;
  return adds;
}

std::uint64_t count(const RequestMeter& meter, Protocol protocol, Operation operation,
                    Code code = Code::ok) {
  return meter.figures().requests[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(
      operation)][static_cast<std::size_t>(code)];
}

const DurationHistogram& durations(const RequestMeter& meter, Operation operation) {
  return meter.figures().durations[static_cast<std::size_t>(operation)];
}

TEST(RequestMeter, WeighsTheOneSampleOfABatchByItsRequests) {
  RequestMeter meter;
  meter.on_known(Protocol::resp, at(0), plain_adds(Ack::memory, 16), plain(16));
  EXPECT_EQ(durations(meter, Operation::add_memory).count(), 0u) << "nothing was written yet";
  meter.on_batch_end(at(3));
  EXPECT_EQ(count(meter, Protocol::resp, Operation::add_memory), 16u);
  EXPECT_EQ(durations(meter, Operation::add_memory).count(), 16u);
  EXPECT_DOUBLE_EQ(durations(meter, Operation::add_memory).sum(), 16 * 0.003);
}

// The last of a batch waits for nothing, and the others do.
TEST(RequestMeter, ABatchOfAddsAtDiskAndMemoryWaitsForTheCommit) {
  RequestMeter meter;
  Coordinator::PlainAdds adds = plain_adds(Ack::disk, 2);
  adds[static_cast<std::size_t>(Ack::memory)] = 1;
  std::vector<AtOnce> known = plain(2, Commit{7});
  known.push_back(plain(1).front());
  meter.on_known(Protocol::resp, at(0), adds, known);
  meter.on_batch_end(at(1));
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 0u);
  meter.on_released(at(10), Commit{7});
  EXPECT_DOUBLE_EQ(durations(meter, Operation::add_disk).sum(), 2 * 0.010);
}

TEST(RequestMeter, TimesAnAddAtDiskUntilItsCommitIsDurable) {
  RequestMeter meter;
  meter.on_known(Protocol::resp, at(0), plain_adds(Ack::disk, 2), plain(2, Commit{7}));
  meter.on_known(Protocol::native, at(1), {}, known(3, Operation::add_disk, Commit{8}));
  meter.on_batch_end(at(2));
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 0u);
  meter.on_released(at(10), Commit{7});
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 2u);
  EXPECT_DOUBLE_EQ(durations(meter, Operation::add_disk).sum(), 2 * 0.010);
  meter.on_released(at(21), Commit{9});
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 5u);
  EXPECT_DOUBLE_EQ(durations(meter, Operation::add_disk).sum(), 0.020 + 3 * 0.020);
  EXPECT_EQ(count(meter, Protocol::resp, Operation::add_disk), 2u);
  EXPECT_EQ(count(meter, Protocol::native, Operation::add_disk), 3u);
}

TEST(RequestMeter, TellsTheOperationsAndCodesOfABatchApart) {
  RequestMeter meter;
  std::vector<AtOnce> mixed = plain(2);
  for (AtOnce& one : known(1, Operation::add_memory, {}, Code::out_of_range))
    mixed.push_back(std::move(one));
  for (AtOnce& one : known(4, Operation::reset)) mixed.push_back(std::move(one));
  for (AtOnce& one : known(1, Operation::add_memory)) mixed.push_back(std::move(one));
  meter.on_known(Protocol::native, at(0), plain_adds(Ack::memory, 2), mixed);
  meter.on_batch_end(at(1));
  EXPECT_EQ(count(meter, Protocol::native, Operation::add_memory), 3u);
  EXPECT_EQ(count(meter, Protocol::native, Operation::add_memory, Code::out_of_range), 1u);
  EXPECT_EQ(count(meter, Protocol::native, Operation::reset), 4u);
  EXPECT_EQ(durations(meter, Operation::add_memory).count(), 4u);
  EXPECT_EQ(durations(meter, Operation::reset).count(), 4u);
}

TEST(RequestMeter, TimesAnAnswerThatComesLaterFromWhenItWasAsked) {
  RequestMeter meter;
  Done done{.code = Code::no_quorum};
  done.asked = {at(5), Operation::add_quorum};
  meter.on_answer(Protocol::resp, at(25), done);
  EXPECT_EQ(count(meter, Protocol::resp, Operation::add_quorum, Code::no_quorum), 1u);
  EXPECT_DOUBLE_EQ(durations(meter, Operation::add_quorum).sum(), 0.020);
  const Value fine, refused{.code = Code::overloaded};
  meter.on_answer(Protocol::native, at(9),
                  Values{1, {fine, refused}, {at(8), Operation::read_fresh}});
  EXPECT_EQ(count(meter, Protocol::native, Operation::read_fresh, Code::overloaded), 1u)
      << "a read of several counters is as good as the worst of them";
}

TEST(RequestMeter, ForgetsWhatWaitedForACoreThatHasGone) {
  RequestMeter meter;
  meter.on_known(Protocol::resp, at(0), plain_adds(Ack::disk, 2), plain(2, Commit{7}));
  meter.forget_waiting();
  meter.on_known(Protocol::resp, at(1), plain_adds(Ack::disk, 1), plain(1, Commit{3}));
  meter.on_released(at(2), Commit{9});
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 1u);
}

TEST(RequestMeter, HoldsFewBatchesHoweverManyWait) {
  RequestMeter meter;
  for (int i = 0; i < 10'000; ++i)
    meter.on_known(Protocol::resp, at(i), plain_adds(Ack::disk, 1), plain(1, Commit{7}));
  meter.on_released(at(10'000), Commit{7});
  EXPECT_EQ(durations(meter, Operation::add_disk).count(), 10'000u) << "none is lost";
}

TEST(DurationHistogram, PutsEachDurationIntoTheFirstBucketThatHoldsIt) {
  struct Case {
    Duration took;
    std::size_t bucket;  // 16: beyond all
  };
  using namespace std::chrono_literals;
  for (const Case& one : {Case{-1ms, 0}, Case{0ms, 0}, Case{100us, 0}, Case{100us + 1ns, 1},
                          Case{1ms, 3}, Case{10s, 15}, Case{10s + 1ns, 16}}) {
    DurationHistogram histogram;
    histogram.observe(one.took, 3);
    for (std::size_t i = 0; i < DurationHistogram::kMost.size(); ++i)
      EXPECT_EQ(histogram.in_bucket(i), i == one.bucket ? 3u : 0u) << one.took.count();
    EXPECT_EQ(histogram.count(), 3u);
  }
}

}  // namespace
}  // namespace quipu::test
