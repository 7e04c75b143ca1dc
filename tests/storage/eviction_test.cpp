// Counters beyond the memory limit: in the store alone, and nothing of them forgotten.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/load_all.h"

namespace quipu::test {
namespace {

ExecutorOptions with_limit(std::size_t bytes) {
  ExecutorOptions options = kTiny;
  options.memory = {bytes, {}};
  options.memory.evictable = Partitions::all();
  return options;
}

std::string key(std::size_t i) { return "k" + std::to_string(i); }

void evict_all(Executor& executor, Commit durable) {
  for (int chance = 0; chance < 2; ++chance) {
    for (std::uint16_t p = 0; p < kPartitions; ++p) executor.evict(Partition{p}, durable);
  }
}

bool resident(const Executor& executor, ShardRef ref) {
  return executor.map().resident(executor.map().place(ref), ref);
}

LeafId leaf_of(const Executor& executor, ShardRef ref) {
  const Placement placement = executor.map().place(ref);
  return {placement.partition(), placement.leaf()};
}

void load(MemoryDisk& disk, Executor& executor, LoadRequest request) {
  MemoryStore store(disk);
  executor.restore(load_all(store, executor.map().placement_key(), std::move(request)).value());
}

// An executor and its disk, with counters of which k<i> counts i + 1, all put by a
// checkpoint and all durable.
struct Filled {
  MemoryDisk disk = new_disk();
  std::unique_ptr<Executor> executor;

  explicit Filled(std::size_t counters, std::size_t limit = 1)
      : executor(std::move(*start(disk, with_limit(limit)))) {
    for (std::size_t i = 0; i < counters; ++i) {
      add(*executor, {key(i), 0}, static_cast<std::int64_t>(i) + 1);
      if (i % 50 == 0) write(disk, seal(*executor));
    }
    while (executor->map().ledger().dirty() > 0 || executor->checkpointing())
      write(disk, seal(*executor));
  }
};

TEST(Eviction, keeps_what_no_checkpoint_has_put) {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk, with_limit(std::size_t{1} << 20)));
  add(*executor, {"likes", 0}, 5);
  write(disk, seal(*executor));
  ASSERT_EQ(executor->map().ledger().dirty(), 1u);
  evict_all(*executor, executor->sealed());
  EXPECT_TRUE(resident(*executor, {"likes", 0}));
  EXPECT_EQ(value(*executor, {"likes", 0}), 5);
}

TEST(Eviction, keeps_what_was_used_since_it_last_came_by) {
  Filled filled(10);
  Executor& executor = *filled.executor;
  evict_all(executor, executor.sealed());
  EXPECT_FALSE(resident(executor, {key(3), 0}));
  load(filled.disk, executor, {1, {{key(3), 0}, {key(4), 0}}, {}});
  EXPECT_EQ(value(executor, {key(3), 0}), 4);  // a look
  for (std::uint16_t p = 0; p < kPartitions; ++p) executor.evict(Partition{p}, executor.sealed());
  EXPECT_TRUE(resident(executor, {key(3), 0}));
  EXPECT_FALSE(resident(executor, {key(4), 0}));
}

// A load that was asked for before a write is durable may bring what was there before.
TEST(Eviction, waits_until_the_write_that_put_it_is_durable) {
  Filled filled(10);
  Executor& executor = *filled.executor;
  evict_all(executor, Commit{1});  // that of the start
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(resident(executor, {key(i), 0}));
}

TEST(Eviction, leaves_what_is_held_and_its_digest_as_they_were) {
  Filled filled(300);
  Executor& executor = *filled.executor;
  std::map<Partition, Hash128> digests;
  std::map<Partition, Digest::Leaves> leaves;
  std::size_t counters = 0;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    digests[Partition{p}] = executor.map().ledger().digest(Partition{p});
    leaves[Partition{p}] = executor.map().ledger().leaves(Partition{p});
  }
  const std::size_t full = executor.map().index().footprint();
  evict_all(executor, executor.sealed());
  EXPECT_EQ(executor.map().index().footprint(), 0u) << "of " << full;
  EXPECT_EQ(executor.map().ledger().size(), 300u);
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    counters += executor.map().ledger().counters(Partition{p});
    EXPECT_EQ(executor.map().ledger().digest(Partition{p}), digests[Partition{p}]);
    EXPECT_EQ(executor.map().ledger().leaves(Partition{p}), leaves[Partition{p}]);
  }
  EXPECT_EQ(counters, 300u);
}

TEST(Eviction, is_undone_by_a_load) {
  Filled filled(50);
  Executor& executor = *filled.executor;
  evict_all(executor, executor.sealed());
  LoadRequest request{1, {}, {}};
  for (std::size_t i = 0; i < 50; i += 2) request.shards.push_back({key(i), 0});
  load(filled.disk, executor, request);
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(resident(executor, {key(i), 0}), i % 2 == 0) << i;
    if (i % 2 != 0) continue;
    EXPECT_EQ(value(executor, {key(i), 0}), static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(executor.map().ledger().size(), 50u);
}

TEST(Eviction, knows_from_a_load_what_is_not_held) {
  Filled filled(50);
  Executor& executor = *filled.executor;
  evict_all(executor, executor.sealed());
  ShardRef stranger{"", 0};
  std::string name;
  for (std::size_t i = 1000; resident(executor, stranger = {name = key(i), 0}); ++i) {
  }
  const LeafId leaf = leaf_of(executor, stranger);
  const Hash128 digest = executor.map().ledger().digest(leaf.partition);
  load(filled.disk, executor, {1, {{name, 0}}, {}});
  EXPECT_TRUE(resident(executor, stranger));
  EXPECT_FALSE(exists(executor, stranger));
  EXPECT_EQ(executor.map().ledger().size(), 50u);
  EXPECT_EQ(executor.map().ledger().digest(leaf.partition), digest);
  std::vector<const Entry*> entries;
  executor.map().index().collect_leaf(leaf.partition, leaf.leaf, entries);
  EXPECT_TRUE(entries.empty());
  EXPECT_EQ(add(executor, stranger, 7).total, 7);
  EXPECT_EQ(executor.map().ledger().size(), 51u);
}

TEST(Eviction, is_undone_for_a_whole_leaf) {
  Filled filled(300);
  Executor& executor = *filled.executor;
  evict_all(executor, executor.sealed());
  const LeafId leaf = leaf_of(executor, {key(7), 0});
  ASSERT_FALSE(executor.map().eviction().resident(leaf));
  load(filled.disk, executor, {1, {}, {leaf}});
  EXPECT_TRUE(executor.map().eviction().resident(leaf));
  EXPECT_EQ(value(executor, {key(7), 0}), 8);
  std::vector<const Entry*> entries;
  executor.map().index().collect_leaf(leaf.partition, leaf.leaf, entries);
  EXPECT_FALSE(entries.empty());
}

TEST(Eviction, is_not_undone_over_what_memory_knows_better) {
  Filled filled(3);
  Executor& executor = *filled.executor;
  evict_all(executor, executor.sealed());
  MemoryStore store(filled.disk);
  const Loaded early =
      load_all(store, executor.map().placement_key(), {1, {{key(1), 0}}, {}}).value();
  executor.restore(early);
  add(executor, {key(1), 0}, 40);
  executor.restore(early);
  EXPECT_EQ(value(executor, {key(1), 0}), 42);
}

TEST(Eviction, is_not_undone_for_what_was_dropped_meanwhile) {
  Filled filled(3);
  Executor& executor = *filled.executor;
  MemoryStore store(filled.disk);
  const Loaded early =
      load_all(store, executor.map().placement_key(), {1, {{key(1), 0}}, {}}).value();
  executor.drop(partition_of(executor, {key(1), 0}));
  executor.restore(early);
  EXPECT_FALSE(exists(executor, {key(1), 0}));
  EXPECT_EQ(executor.map().ledger().size(), 2u);
  EXPECT_EQ(add(executor, {key(1), 0}, 7).total, 7);
}

TEST(Eviction, lets_a_checkpoint_begin_when_too_much_is_dirty) {
  MemoryDisk disk = new_disk();
  ExecutorOptions options = with_limit(10'000);
  options.checkpoint.journal_bytes = std::size_t{1} << 40;
  const auto executor = std::move(*start(disk, options));
  for (std::size_t i = 0; executor->map().ledger().dirty_bytes() <= 10'000 / 8; ++i)
    add(*executor, {key(i), 0}, 1);
  EXPECT_TRUE(executor->checkpointing());
  while (executor->checkpointing()) write(disk, seal(*executor));
  EXPECT_EQ(executor->map().ledger().dirty(), 0u);
}

TEST(Eviction, never_touches_what_others_own) {
  ExecutorOptions options = with_limit(1);
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk, options));
  add(*executor, {"likes", 0}, 5);
  const Partition foreign = partition_of(*executor, {"likes", 0});
  while (executor->map().ledger().dirty() > 0) write(disk, seal(*executor));
  options.memory.evictable.erase(foreign);
  executor = std::move(*start(disk, options));
  evict_all(*executor, executor->sealed());
  EXPECT_EQ(value(*executor, {"likes", 0}), 5);
}

// ---- starts ----

TEST(Eviction, holds_at_a_start_what_there_is_room_for) {
  Filled filled(500);
  const auto again = std::move(*start(filled.disk, with_limit(10'000)));
  EXPECT_EQ(again->map().ledger().size(), 500u);
  EXPECT_LE(again->map().index().footprint(), 10'000u);
  EXPECT_GT(again->map().index().footprint(), 5'000u);
  std::size_t here = 0;
  for (std::size_t i = 0; i < 500; ++i) here += resident(*again, {key(i), 0}) ? 1 : 0;
  EXPECT_GT(here, 50u);
  EXPECT_LT(here, 200u);
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    EXPECT_EQ(again->map().ledger().digest(Partition{p}),
              filled.executor->map().ledger().digest(Partition{p}));
    EXPECT_EQ(again->map().ledger().leaves(Partition{p}),
              filled.executor->map().ledger().leaves(Partition{p}));
  }
}

// More than a slice is dirty, and may not wait for thousands of them.
TEST(Eviction, catches_up_with_what_is_dirty_after_a_start) {
  MemoryDisk disk = new_disk();
  ExecutorOptions options = kTiny;
  options.checkpoint.journal_bytes = std::size_t{1} << 40;
  auto executor = std::move(*start(disk, options));
  for (std::size_t i = 0; i < 2000; ++i) add(*executor, {key(i), 0}, 1);
  write(disk, seal(*executor));
  EXPECT_GT(executor->map().ledger().dirty_bytes(), 40'000u);
  executor = std::move(*start(disk, with_limit(10'000)));
  EXPECT_EQ(executor->map().eviction().dirty_excess(), 0u);
}

// Whatever is added, put, evicted, brought back and started anew: as if all of it had
// stayed in memory.
RC_GTEST_PROP(Eviction, changes_no_answer, ()) {
  MemoryDisk disk = new_disk();
  const ExecutorOptions options = with_limit(600);
  auto executor = std::move(*start(disk, options));
  confirm(*executor);
  std::map<std::string, std::int64_t> model;
  const auto bring = [&](const std::string& name) {
    if (!resident(*executor, {name, 0})) load(disk, *executor, {1, {{name, 0}}, {}});
  };
  const auto steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) {
    const std::string name = key(*rc::gen::inRange<std::size_t>(0, 12));
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
      case 1:
      case 2:
        bring(name);
        RC_ASSERT(add(*executor, {name, 0}, i).code == Code::ok);
        model[name] += i;
        break;
      case 3:
        bring(name);
        reset(*executor, {name, 0});
        model.erase(name);
        break;
      case 4:
      case 5:
        write(disk, seal(*executor));
        break;
      case 6:
        write(disk, executor->take_sealed());
        evict_all(*executor, executor->sealed());
        break;
      case 7:
        write(disk, seal(*executor));
        if (*rc::gen::inRange(0, 3) == 0) {
          executor = std::move(*start(disk, options));
          confirm(*executor);
        }
        break;
    }
  }
  for (std::size_t i = 0; i < 12; ++i) {
    bring(key(i));
    const auto expected = model.find(key(i));
    RC_ASSERT(exists(*executor, {key(i), 0}) == (expected != model.end()));
    if (expected != model.end()) RC_ASSERT(value(*executor, {key(i), 0}) == expected->second);
  }
  std::size_t counters = 0;
  for (std::uint16_t p = 0; p < kPartitions; ++p)
    counters += executor->map().ledger().counters(Partition{p});
  RC_ASSERT(counters == model.size());
}

// ---- damage ----

TEST(Loader, calls_damage_corrupt) {
  Filled filled(3);
  const HashKey placement = filled.executor->map().placement_key();
  const ShardKey shard{key(1), 0};
  const std::string name = stored::shard({placement, shard}, shard);
  std::string& value = filled.disk.durable.at(name);
  value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 1);
  MemoryStore store(filled.disk);
  EXPECT_EQ(load_all(store, placement, {1, {shard}, {}}).status().code(), Code::corrupt);
  const LeafId leaf = leaf_of(*filled.executor, shard);
  EXPECT_EQ(load_all(store, placement, {1, {}, {leaf}}).status().code(), Code::corrupt);
}

}  // namespace
}  // namespace quipu::test
