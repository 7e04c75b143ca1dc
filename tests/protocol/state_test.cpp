// Delta: whatever is pushed is what for_each shows.
#include "protocol/state.h"

#include <gtest/gtest.h>

#include "protocol/random.h"
#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

constexpr Commit kCommit{100};

Cell own(std::uint64_t actor, std::int64_t sum = 1) { return {ActorId{actor}, kCommit, sum}; }
Cell other(std::uint64_t actor) { return {ActorId{actor}, Commit{99}, 5}; }
Cell cleared(std::uint64_t actor) { return {ActorId{actor}, kCommit, 5, Commit{99}, 4}; }
Cell cleared_by_sum(std::uint64_t actor) { return {ActorId{actor}, kCommit, 5, Commit{}, 4}; }

struct Cells {
  const char* name;
  std::vector<Cell> cells;
  friend void PrintTo(const Cells& one, std::ostream* os) { *os << one.name; }
};

class DeltaOf : public testing::TestWithParam<Cells> {};

INSTANTIATE_TEST_SUITE_P(
    Cells, DeltaOf,
    testing::Values(Cells{"none", {}}, Cells{"one_own", {own(5, INT64_MIN)}},
                    Cells{"own_first", {own(1), other(2), other(3)}},
                    Cells{"own_between", {other(1), own(2), other(3)}},
                    Cells{"own_last", {other(1), other(2), own(~0ULL, INT64_MAX)}},
                    Cells{"several_with_the_commit", {own(1, 7), own(2, 8), own(3, 9)}},
                    Cells{"cleared", {cleared(1)}}, Cells{"cleared_by_sum", {cleared_by_sum(1)}},
                    Cells{"own_among_cleared", {cleared(1), own(2), cleared(3)}},
                    Cells{"others_alone", {other(1), other(2)}}),
    [](const auto& one) { return one.param.name; });

TEST_P(DeltaOf, shows_what_was_pushed) {
  const ShardState state{GetParam().cells, 4, 3};
  Delta delta(kCommit);
  delta.push({"before", 0}, {{own(2)}, 1, 1});
  delta.push({"key", 7}, state);
  delta.push({"behind", 0}, {{other(1), own(2, -9)}, 1, 1});
  const auto seen = shards_of(delta);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(delta.size(), 3U);
  EXPECT_EQ(seen[1], (SeenShard{{"key", 7}, state}));
  EXPECT_EQ(seen[2].state.cells, (std::vector<Cell>{other(1), own(2, -9)}));
}

TEST_P(DeltaOf, shows_the_same_under_every_commit) {
  const ShardState state{GetParam().cells, 1, 1};
  for (const Commit commit : {Commit{0}, Commit{99}, Commit{100}, Commit{kMax64}}) {
    Delta delta(commit);
    delta.push({"key", 0}, state);
    EXPECT_EQ(delta.commit(), commit);
    EXPECT_EQ(shards_of(delta).at(0).state, state);
  }
}

TEST(Delta, is_empty_until_something_is_pushed) {
  Delta delta;
  EXPECT_TRUE(delta.empty());
  delta.for_each([](const DeltaEntry&) { FAIL(); });
  delta.push({"key", 0}, {});
  EXPECT_FALSE(delta.empty());
}

TEST(Delta, can_be_looked_at_twice) {
  const Delta delta = sample_delta();
  EXPECT_EQ(shards_of(delta), shards_of(delta));
}

// What a record of a busy node looks like: many shards, an actor per partition.
Delta busy_delta(std::size_t shards, std::size_t actors, std::vector<SeenShard>& pushed) {
  Random random(4);
  std::vector<std::uint64_t> ids(actors);
  for (std::uint64_t& id : ids) id = random.next();
  Delta delta(kCommit);
  for (std::size_t i = 0; i < shards; ++i) {
    const Cell cell = own(ids[random.below(actors)], static_cast<std::int64_t>(i));
    pushed.push_back({{"key:" + std::to_string(i), 0}, {{cell}, 1, 1}});
    delta.push(pushed.back().shard, pushed.back().state);
  }
  return delta;
}

TEST(Delta, keeps_a_fresh_own_cell_in_10_bytes) {
  std::vector<SeenShard> pushed;
  const Delta small = busy_delta(1000, 4096, pushed);
  EXPECT_EQ(shards_of(small), pushed);
  pushed.clear();
  const Delta busy = busy_delta(100'000, 4096, pushed);
  EXPECT_EQ(shards_of(busy), pushed);
  std::size_t keys = 0;
  for (const SeenShard& one : pushed) keys += one.shard.key.size();
  // 8 for the sum; 12 for the entry, which holds the index; and the actors once.
  EXPECT_LE(busy.bytes() - keys, 100'000 * 20 + 4096 * 8 + 1000);
}

TEST(Delta, takes_more_actors_than_it_has_numbers_for) {
  std::vector<SeenShard> pushed;
  Delta delta(kCommit);
  for (std::uint64_t actor = 1; actor <= 70'000; ++actor) {
    pushed.push_back({{"k", 0}, {{own(actor * 4096)}, 1, 1}});
    delta.push(pushed.back().shard, pushed.back().state);
  }
  EXPECT_EQ(shards_of(delta), pushed);
}

TEST(Delta, estimates_its_encoded_size_from_above_and_closely) {
  std::vector<SeenShard> pushed;
  for (const Delta& delta : {Delta(), sample_delta(), busy_delta(10'000, 100, pushed)}) {
    const std::size_t encoded_size = encoded(PeerMessage(DeltaFrame{1, Fence{}, delta})).size();
    EXPECT_GE(delta.bytes() + 64, encoded_size);
    EXPECT_LE(delta.bytes(), encoded_size + 128);
  }
}

}  // namespace
}  // namespace quipu::test
