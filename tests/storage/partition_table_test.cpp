#include "storage/partition_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "protocol/random.h"

namespace quipu::test {
namespace {

// Entries with a memory of their own; the hash is chosen by the test, so that
// slots collide when it wants them to.
struct Entries {
  Slab slab;
  ActorNames actors;

  Entry* make(const Placement& placement, ShardRef ref) {
    return Entry::create(slab, actors, placement, ref, ShardState{});
  }
};

TEST(PartitionTable, finds_nothing_while_empty) {
  const PartitionTable table;
  EXPECT_EQ(table.find(Placement(7), {"likes", 0}), nullptr);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.bytes(), 0u);
}

TEST(PartitionTable, tells_shards_apart_by_key_and_by_index) {
  Entries entries;
  PartitionTable table;
  const Placement same(7);  // the worst case: all land on one slot with one tag
  Entry* likes0 = entries.make(same, {"likes", 0});
  Entry* likes1 = entries.make(same, {"likes", 1});
  Entry* views0 = entries.make(same, {"views", 0});
  for (Entry* entry : {likes0, likes1, views0}) table.insert(same, entry);

  EXPECT_EQ(table.find(same, {"likes", 0}), likes0);
  EXPECT_EQ(table.find(same, {"likes", 1}), likes1);
  EXPECT_EQ(table.find(same, {"views", 0}), views0);
  EXPECT_EQ(table.find(same, {"views", 1}), nullptr);
  EXPECT_EQ(table.find(same, {"like", 0}), nullptr);
}

TEST(PartitionTable, replaces_one_entry_and_leaves_its_neighbours) {
  Entries entries;
  PartitionTable table;
  const Placement same(7);
  Entry* before = entries.make(same, {"likes", 0});
  Entry* neighbour = entries.make(same, {"views", 0});
  table.insert(same, before);
  table.insert(same, neighbour);

  Entry* after = entries.make(same, {"likes", 0});
  table.replace(same, before, after);

  EXPECT_EQ(table.find(same, {"likes", 0}), after);
  EXPECT_EQ(table.find(same, {"views", 0}), neighbour);
  EXPECT_EQ(table.size(), 2u);
}

TEST(PartitionTable, probes_around_its_end) {
  Entries entries;
  PartitionTable table;
  const Placement last(0xffffffff);
  std::vector<Entry*> made;
  for (ShardIndex i = 0; i < 40; ++i) {
    made.push_back(entries.make(last, {"k", i}));
    table.insert(last, made.back());
  }
  for (ShardIndex i = 0; i < 40; ++i) EXPECT_EQ(table.find(last, {"k", i}), made[i]);
}

TEST(PartitionTable, is_never_more_than_seven_eighths_full) {
  Entries entries;
  PartitionTable table;
  Random random(3);
  for (int i = 1; i <= 5000; ++i) {
    const Placement placement(random.next());
    table.insert(placement, entries.make(placement, {std::to_string(i), 0}));
    const std::size_t slots = table.bytes() / 8;
    ASSERT_LE(table.size() * 8, slots * 7) << "after " << i;
    // A rehash is what costs, so it grows by half, not less.
    if (i > 100) {
      ASSERT_GE(table.size() * 8 * 2, slots * 7) << "after " << i;
    }
  }
}

// Few distinct hashes, so that long runs form and wrap around.
RC_GTEST_PROP(PartitionTable, holds_what_a_map_holds,
              (const std::vector<std::pair<std::uint8_t, std::uint8_t>>& inserts)) {
  Entries entries;
  PartitionTable table;
  std::map<std::string, std::pair<std::uint64_t, Entry*>> model;
  for (const auto& [number, spot] : inserts) {
    const std::string key = std::to_string(number);
    // What the slot has of the hash, and what it has not; both repeat.
    const std::uint64_t hash = (std::uint64_t{spot % 3u} << 32) | (0xfffffff0u + spot % 16u);
    const auto held = model.find(key);
    if (held == model.end()) {
      Entry* entry = entries.make(Placement(hash), {key, 0});
      table.insert(Placement(hash), entry);
      model[key] = {hash, entry};
    } else {
      auto& [old_hash, old] = held->second;
      Entry* now = entries.make(Placement(old_hash), {key, 0});
      table.replace(Placement(old_hash), old, now);
      old = now;
    }
  }
  RC_ASSERT(table.size() == model.size());
  const auto parity = *rc::gen::inRange(0, 3);  // 2: all stay
  table.retain([&](const Entry* entry) { return entry->ref().key.back() % 2 != parity; });
  std::erase_if(model, [&](const auto& row) {
    if (row.first.back() % 2 != parity) return false;
    RC_ASSERT(table.find(Placement(row.second.first), {row.first, 0}) == nullptr);
    return true;
  });
  RC_ASSERT(table.size() == model.size());
  RC_ASSERT(!model.empty() || table.bytes() == 0);
  std::set<const Entry*> expected, visited;
  for (const auto& [key, row] : model) {
    RC_ASSERT(table.find(Placement(row.first), {key, 0}) == row.second);
    expected.insert(row.second);
  }
  table.for_each([&](const Entry* entry) { RC_ASSERT(visited.insert(entry).second); });
  RC_ASSERT(visited == expected);
}

}  // namespace
}  // namespace quipu::test
