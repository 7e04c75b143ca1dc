#include "storage/journal_names.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/protocol/messages.h"

namespace quipu::test {
namespace {

const ShardKey kLikes{"likes", 0};
const ShardKey kViews{"views", 3};

// That names `shard`, one cell of it, and gives it that alias.
Record naming(std::uint64_t commit, const ShardKey& shard, ActorId actor, Alias alias) {
  Record record{Delta(Commit{commit})};
  record.delta.push(shard, {{Cell{actor, Commit{commit}, 1, {}, 0}}});
  record.aliases = {alias};
  return record;
}

// What a record says that has so much by alias and nothing else.
SeenShard said(JournalNames& names, std::uint64_t commit, Alias alias, std::int64_t sum) {
  Record record{Delta(Commit{commit}), {}, {}, {alias}, {sum}};
  if (!names.resolve(record)) return {};
  EXPECT_TRUE(record.aliased.empty());
  return shards_of(record.delta).at(0);
}

SeenShard one_cell(const ShardKey& shard, ActorId actor, std::uint64_t commit, std::int64_t sum) {
  return {shard, {{Cell{actor, Commit{commit}, sum, {}, 0}}}};
}

TEST(JournalNames, stand_for_the_cell_with_which_an_alias_was_given) {
  JournalNames names;
  Record first = naming(1, kLikes, ActorId{5}, Alias{9});
  Record second = naming(2, kViews, ActorId{6}, Alias{~std::uint32_t{0}});
  ASSERT_TRUE(names.resolve(first));
  ASSERT_TRUE(names.resolve(second));
  EXPECT_EQ(shards_of(first.delta).size(), 1u) << "itself it has by name";
  EXPECT_EQ(said(names, 3, Alias{9}, 7), one_cell(kLikes, ActorId{5}, 3, 7));
  EXPECT_EQ(said(names, 4, Alias{~std::uint32_t{0}}, -7), one_cell(kViews, ActorId{6}, 4, -7));
}

TEST(JournalNames, stand_for_what_an_alias_was_given_last) {
  JournalNames names;
  std::uint64_t commit = 0;
  for (const ShardKey& shard : {kLikes, kViews, kViews}) {
    const ActorId actor{++commit};
    Record record = naming(commit, shard, actor, Alias{9});
    ASSERT_TRUE(names.resolve(record));
    ++commit;
    EXPECT_EQ(said(names, commit, Alias{9}, 7), one_cell(shard, actor, commit, 7));
  }
}

TEST(JournalNames, come_behind_what_the_record_has_by_name) {
  JournalNames names;
  Record first = naming(1, kLikes, ActorId{5}, Alias{9});
  ASSERT_TRUE(names.resolve(first));
  Record both = naming(2, kViews, ActorId{6}, Alias{10});
  both.aliased = {Alias{9}, Alias{10}};
  both.aliased_sums = {3, 4};
  ASSERT_TRUE(names.resolve(both));
  const std::vector<SeenShard> seen = shards_of(both.delta);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], one_cell(kViews, ActorId{6}, 2, 1));
  EXPECT_EQ(seen[1], one_cell(kLikes, ActorId{5}, 2, 3));
  EXPECT_EQ(seen[2], one_cell(kViews, ActorId{6}, 2, 4));
}

TEST(JournalNames, refuse_what_no_executor_writes) {
  JournalNames names;
  for (const std::uint32_t alias : {0U, 1U, 5000U, ~0U}) {
    Record unknown{Delta(Commit{1}), {}, {}, {Alias{alias}}, {1}};
    EXPECT_FALSE(names.resolve(unknown)) << alias;
  }
  Record nobody = naming(1, kLikes, ActorId{5}, Alias{});
  ASSERT_TRUE(names.resolve(nobody));
  EXPECT_EQ(said(names, 2, Alias{}, 1), SeenShard{}) << "0 is no alias";
  Record neighbour = naming(1, kLikes, ActorId{5}, Alias{4});
  ASSERT_TRUE(names.resolve(neighbour));
  EXPECT_EQ(said(names, 2, Alias{5}, 1), SeenShard{});

  Record of_two{Delta(Commit{3})};
  of_two.delta.push(kLikes,
                    {{Cell{ActorId{1}, Commit{3}, 1, {}, 0}, {ActorId{2}, Commit{2}, 1, {}, 0}}});
  of_two.aliases = {Alias{6}};
  EXPECT_FALSE(names.resolve(of_two)) << "an alias is of one cell";
}

}  // namespace
}  // namespace quipu::test
