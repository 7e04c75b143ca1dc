// What a record says by alias, and that a start understands it wherever it comes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/executor.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

// As it is encoded.
Record stored_record(const Sealed& sealed) {
  const std::string key = stored::record(sealed.commit);
  return *decode_record(key, *find_put(sealed.batch, key));
}

class Aliases : public testing::Test {
 protected:
  // The record of one more add.
  Record add_to(const ShardKey& shard, std::int64_t amount = 1) {
    add(executor_, shard, amount);
    return stored_record(seal(executor_).at(0));
  }

  Executor executor_ = fresh_executor(1);
};

TEST_F(Aliases, stand_for_a_shard_once_a_record_named_it) {
  const Record first = add_to(kLikes);
  EXPECT_EQ(first.delta.size(), 1u);
  ASSERT_EQ(first.aliases.size(), 1u);
  ASSERT_NE(first.aliases[0], Alias{});
  EXPECT_TRUE(first.aliased.empty());

  for (std::int64_t sum = 2; sum < 10; ++sum) {
    const Record later = add_to(kLikes);
    EXPECT_TRUE(later.delta.empty());
    EXPECT_TRUE(later.aliases.empty());
    EXPECT_EQ(later.aliased, (std::vector<Record::Aliased>{{first.aliases[0], sum}}));
  }
}

TEST_F(Aliases, differ_from_shard_to_shard) {
  const ShardKey other{"likes", 1};
  add(executor_, kLikes, 1);
  add(executor_, other, 1);
  const Record named = stored_record(seal(executor_).at(0));
  ASSERT_EQ(named.aliases.size(), 2u);
  EXPECT_NE(named.aliases[0], named.aliases[1]);
  EXPECT_EQ(add_to(other).aliased, (std::vector<Record::Aliased>{{named.aliases[1], 2}}));
}

TEST_F(Aliases, end_where_more_than_the_own_cell_changes) {
  for (int i = 0; i < 3; ++i) (void)add_to(kLikes);
  executor_.merge(said(kLikes, cell_of(1, 500, 100)));
  const Record merged = add_to(kLikes);
  ASSERT_EQ(merged.delta.size(), 1u);
  EXPECT_EQ(merged.aliases, std::vector{Alias{}});
  EXPECT_NE(add_to(kLikes).aliases.at(0), Alias{});
  EXPECT_EQ(add_to(kLikes).aliased.size(), 1u);
}

TEST_F(Aliases, end_where_the_entry_is_elsewhere_in_memory) {
  for (int i = 0; i < 3; ++i) (void)add_to(kLikes);
  const Record wider = add_to(kLikes, std::int64_t{1} << 45);
  ASSERT_EQ(wider.delta.size(), 1u);
  EXPECT_NE(wider.aliases.at(0), Alias{});
  EXPECT_EQ(add_to(kLikes).aliased.at(0).alias, wider.aliases.at(0));
}

// It is no piece of the slab.
TEST_F(Aliases, are_not_given_to_a_shard_of_very_many_cells) {
  ShardState state;
  for (std::uint64_t actor = 1; actor < 200; ++actor)
    state.cells.push_back({ActorId{actor}, Commit{1000}, 1, {}, 0});
  executor_.merge(said(kLikes, state));
  for (int i = 0; i < 4; ++i) {
    const Record record = add_to(kLikes);
    EXPECT_EQ(record.delta.size(), 1u);
    EXPECT_EQ(record.aliases, std::vector{Alias{}});
  }
}

// Through several checkpoints, with each batch as the last that came to the disk.
TEST(AliasesOnDisk, are_understood_wherever_power_fails) {
  MemoryDisk disk = new_disk();
  const ExecutorOptions options{
      .placement = {},
      .tokens = {},
      .checkpoint = {.journal_bytes = 3000, .slice_states = 3, .cut_records = 4}};
  Random random(1);
  std::vector<ShardKey> shards;
  for (int i = 0; i < 12; ++i) shards.push_back({"key" + std::to_string(i), 0});
  std::vector<std::int64_t> sums(shards.size());
  std::size_t by_alias = 0, checkpoints = 0;
  auto executor = std::move(*start(disk, options));
  for (int round = 0; round < 600; ++round) {
    for (int i = 0; i < 3; ++i) {
      const std::size_t which = random.below(shards.size());
      const std::int64_t amount = random.below(100) == 0 ? std::int64_t{1} << 42 : 1;
      ASSERT_EQ(add(*executor, shards[which], amount).code, Code::ok);
      sums[which] += amount;
    }
    const bool was = executor->checkpointing();
    for (const Sealed& sealed : seal(*executor)) {
      by_alias += stored_record(sealed).aliased.size();
      write(disk, {sealed});
    }
    checkpoints += !was && executor->checkpointing() ? 1 : 0;
    MemoryDisk copy = disk;
    Result<std::unique_ptr<Executor>> recovered = start(copy, options, random.next());
    ASSERT_TRUE(recovered.ok()) << recovered.status().message() << " in round " << round;
    for (std::size_t i = 0; i < shards.size(); ++i)
      ASSERT_EQ(value(**recovered, shards[i]), sums[i]) << round;
    if (round % 100 == 99) {  // it goes on from there, and gives the same aliases to others
      disk = copy;
      executor = std::move(*recovered);
    }
  }
  EXPECT_GT(checkpoints, 10u);
  EXPECT_GT(by_alias, 400u);
}

}  // namespace
}  // namespace quipu::test
