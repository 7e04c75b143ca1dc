// What a start makes of records that use aliases, of whatever form.
#include "storage/journal_aliases.h"

#include <gtest/gtest.h>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

const ShardKey kViewsPart{"views", 3};
constexpr Alias kLast{~std::uint32_t{0}};

class Replay : public testing::Test {
 protected:
  // Names a shard, of which it says so much, and gives it an alias.
  bool name(std::uint64_t commit, const ShardKey& shard, const ShardState& said, Alias alias) {
    Record record{Delta(Commit{commit})};
    record.delta.push(shard, said);
    record.aliases = {alias};
    return executor_.replay(record, aliases_, 100);
  }
  bool by_alias(std::uint64_t commit, Alias alias, std::int64_t sum) {
    return executor_.replay({Delta(Commit{commit}), {}, {}, {{alias, sum}}}, aliases_, 100);
  }
  std::size_t counters(const ShardKey& shard) {
    const Partition partition = partition_of(executor_, shard);
    EXPECT_EQ(executor_.map().ledger().counters(partition),
              counters_walked(executor_.map(), partition));
    return executor_.map().ledger().counters(partition);
  }

  Executor executor_ = fresh_executor(1);
  JournalAliases aliases_;
};

TEST_F(Replay, takes_an_alias_for_the_cell_with_which_it_was_given) {
  ASSERT_TRUE(name(1, kLikes, cell_of(5, 1, 1), Alias{9}));
  ASSERT_TRUE(name(2, kViewsPart, cell_of(6, 2, 1), kLast));
  EXPECT_TRUE(by_alias(3, Alias{9}, 7));
  EXPECT_TRUE(by_alias(4, kLast, -7));
  EXPECT_EQ(state(executor_, kLikes), cell_of(5, 3, 7));
  EXPECT_EQ(state(executor_, kViewsPart), cell_of(6, 4, -7));
}

TEST_F(Replay, takes_an_alias_for_what_it_was_given_last) {
  ASSERT_TRUE(name(1, kLikes, cell_of(5, 1, 1), Alias{9}));
  ASSERT_TRUE(name(2, kViewsPart, cell_of(6, 2, 1), Alias{9}));
  EXPECT_TRUE(by_alias(3, Alias{9}, 7));
  EXPECT_EQ(state(executor_, kLikes), cell_of(5, 1, 1));
  EXPECT_EQ(state(executor_, kViewsPart), cell_of(6, 3, 7));
}

TEST_F(Replay, takes_what_a_record_names_before_what_it_has_by_alias) {
  Record both{Delta(Commit{2})};
  both.delta.push(kLikes, cell_of(5, 1, 1));
  both.delta.push(kViewsPart, cell_of(6, 1, 1));
  both.aliases = {Alias{}, Alias{10}};
  both.aliased = {{Alias{10}, 4}};
  EXPECT_TRUE(executor_.replay(both, aliases_, 100));
  EXPECT_EQ(state(executor_, kViewsPart), cell_of(6, 2, 4));
}

TEST_F(Replay, follows_a_state_that_outgrew_its_place) {
  ASSERT_TRUE(name(1, kLikes, cell_of(5, 1, 1), Alias{9}));
  constexpr std::int64_t kWide = std::int64_t{1} << 60;
  EXPECT_TRUE(by_alias(2, Alias{9}, kWide));
  EXPECT_EQ(state(executor_, kLikes), cell_of(5, 2, kWide));
  for (std::uint64_t actor = 10; actor < 200; ++actor)
    ASSERT_TRUE(name(actor, kLikes, cell_of(actor, actor, 1), Alias{}));
  // It is what others than an executor may have written.
  EXPECT_TRUE(by_alias(200, Alias{9}, 3));
  EXPECT_EQ(state(executor_, kLikes).cells[0], cell_of(5, 200, 3).cells[0]);
  EXPECT_EQ(value(executor_, kLikes), 3 + 190);
}

TEST_F(Replay, counts_a_counter_that_was_cleared_and_changed_since) {
  const ShardState cleared{{Cell{ActorId{5}, Commit{1}, 1, Commit{1}, 1}}};
  ASSERT_TRUE(name(1, kLikes, cell_of(5, 1, 1), Alias{9}));
  EXPECT_EQ(counters(kLikes), 1u);
  ASSERT_TRUE(name(2, kLikes, cleared, Alias{9}));
  EXPECT_EQ(counters(kLikes), 0u);
  EXPECT_TRUE(by_alias(3, Alias{9}, 6));
  EXPECT_EQ(counters(kLikes), 1u);
  EXPECT_EQ(value(executor_, kLikes), 5);
}

TEST_F(Replay, refuses_an_alias_that_no_record_gave) {
  for (const std::uint32_t alias : {0U, 1U, 5000U, ~0U})
    EXPECT_FALSE(by_alias(1, Alias{alias}, 1)) << alias;
  ASSERT_TRUE(name(2, kLikes, cell_of(5, 2, 1), Alias{}));
  EXPECT_FALSE(by_alias(3, Alias{}, 1)) << "0 is no alias";
  ASSERT_TRUE(name(4, kLikes, cell_of(5, 4, 1), Alias{4}));
  EXPECT_FALSE(by_alias(5, Alias{5}, 1)) << "a neighbour on its page";
}

TEST_F(Replay, refuses_an_alias_of_other_than_one_cell) {
  const ShardState two{
      {Cell{ActorId{1}, Commit{1}, 1, {}, 0}, Cell{ActorId{2}, Commit{1}, 1, {}, 0}}};
  EXPECT_FALSE(name(1, kLikes, two, Alias{6}));
  EXPECT_FALSE(name(2, kViewsPart, {{}, 2, 1}, Alias{6}));
}

}  // namespace
}  // namespace quipu::test
