// Under whose name an executor counts: an actor is never used again after its
// state was lost, rolled back or dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

TEST(Executor, draws_a_new_actor_when_a_peer_shows_that_the_old_one_lived_on) {
  const struct {
    const char* story;
    std::uint64_t commit;
    std::int64_t sum;
    bool redrawn;
  } cases[] = {
      {"what it holds itself", 1, 10, false},        {"a later number", 2, 99, true},
      {"a later number, the same sum", 2, 10, true}, {"its number with a greater sum", 1, 11, true},
      {"its number with a lesser sum", 1, 9, true},
  };
  for (const auto& row : cases) {
    Executor executor = fresh_executor(1);
    add(executor, kLikes, 10);
    executor.seal();
    const ActorId old = state(executor, kLikes).cells.at(0).actor;
    executor.merge(said(kLikes, cell_of(raw(old), row.commit, row.sum)));
    EXPECT_EQ(executor.has_actor(partition_of(executor, kLikes)), !row.redrawn) << row.story;

    const std::int64_t held = *value(executor, kLikes);
    add(executor, kLikes, 1);
    EXPECT_EQ(value(executor, kLikes), held + 1) << row.story;
    EXPECT_EQ(state(executor, kLikes).cells.size(), row.redrawn ? 2u : 1u) << row.story;
  }
}

TEST(Executor, draws_a_new_actor_when_a_peer_has_a_shard_of_it_that_is_not_here) {
  Executor executor = fresh_executor(1);
  add(executor, kLikes, 10);
  executor.seal();
  // Another shard of that partition.
  ShardKey sister = kLikes;
  while (sister == kLikes || partition_of(executor, sister) != partition_of(executor, kLikes)) {
    sister.key += "x";
    if (sister.key.size() == kMaxKey)
      sister = {"y" + sister.key.substr(0, 9), ShardIndex(sister.shard + 1)};
  }
  const ActorId old = state(executor, kLikes).cells.at(0).actor;
  executor.merge(said(sister, cell_of(raw(old), 1, 3)));
  EXPECT_FALSE(executor.has_actor(partition_of(executor, kLikes)));
}

TEST(Executor, deletes_a_forgotten_actor_at_rest_and_puts_the_next) {
  Executor executor = fresh_executor(1);
  const Partition partition = partition_of(executor, kLikes);
  const std::string name = stored::actor(partition);
  add(executor, kLikes, 1);
  Sealed sealed = std::move(seal(executor).at(0));
  EXPECT_NE(find_put(sealed.batch, name), nullptr);
  EXPECT_FALSE(deletes(sealed.batch, name));

  executor.forget_actor(partition);
  EXPECT_TRUE(executor.has_open()) << "or a restart would bring it back";
  sealed = std::move(seal(executor).at(0));
  EXPECT_EQ(find_put(sealed.batch, name), nullptr);
  EXPECT_TRUE(deletes(sealed.batch, name));

  executor.forget_actor(partition);
  EXPECT_FALSE(executor.has_open()) << "there was none";

  // Drawn, forgotten and drawn again within one record.
  add(executor, kLikes, 1);
  executor.forget_actor(partition);
  add(executor, kLikes, 1);
  sealed = std::move(seal(executor).at(0));
  ASSERT_NE(find_put(sealed.batch, name), nullptr);
  EXPECT_FALSE(deletes(sealed.batch, name));
  EXPECT_EQ(std::count_if(sealed.batch.puts.begin(), sealed.batch.puts.end(),
                          [&](const auto& put) { return put.key == name; }),
            1)
      << "a key stands in a batch once";
  const ActorId stored = decode_actor(name, *find_put(sealed.batch, name)).value();
  EXPECT_EQ(state(executor, kLikes).cells.size(), 3u);
  add(executor, kLikes, 1);
  for (const Cell& cell : state(executor, kLikes).cells) {
    EXPECT_EQ(cell.commit == next(sealed.commit), cell.actor == stored);
  }
}

TEST(Executor, records_all_that_changed_under_an_actor_that_it_then_forgot) {
  Executor executor = fresh_executor(1);
  JournalNames names;
  add(executor, kLikes, 1);
  (void)record_of(seal(executor).at(0), names);
  add(executor, kLikes, 4);
  executor.forget_actor(partition_of(executor, kLikes));
  EXPECT_EQ(cells_of(record_of(seal(executor).at(0), names)), state(executor, kLikes).cells);
}

// After an add of 1. Returns that actor.
ActorId set_aside(Executor& executor, Partition partition) {
  add(executor, kLikes, 1);
  (void)seal(executor);
  const ActorId old = executor.actor(partition);
  executor.set_actor_aside(partition);
  return old;
}

TEST(Executor, sets_an_actor_aside_and_takes_it_back) {
  Executor executor = fresh_executor(1);
  const Partition partition = partition_of(executor, kLikes);
  const std::string name = stored::actor(partition);
  const ActorId old = set_aside(executor, partition);
  add(executor, kLikes, 2);
  EXPECT_NE(executor.actor(partition), old);
  Sealed sealed = std::move(seal(executor).at(0));
  EXPECT_EQ(find_put(sealed.batch, name), nullptr) << "the next start asks for the old one again";
  EXPECT_FALSE(deletes(sealed.batch, name));

  add(executor, kLikes, 3);
  executor.take_actor_back(partition);
  EXPECT_EQ(executor.actor(partition), old);
  add(executor, kLikes, 4);
  JournalNames names;
  for (const Sealed& one : seal(executor)) {
    const Record record = record_of(one, names);
    ASSERT_EQ(record.delta.size(), 1u) << "by name: an alias means a cell of one actor";
    EXPECT_EQ(cells_of(record).size(), 1u);
  }
  ASSERT_EQ(state(executor, kLikes).cells.size(), 2u);
  for (const Cell& cell : state(executor, kLikes).cells) EXPECT_EQ(cell.sum, 5);

  executor.take_actor_back(partition);
  EXPECT_EQ(executor.actor(partition), old) << "there was none";
}

TEST(Executor, does_not_take_an_actor_back_that_lived_on_elsewhere) {
  Executor executor = fresh_executor(1);
  const Partition partition = partition_of(executor, kLikes);
  const ActorId old = set_aside(executor, partition);
  executor.merge(said(kLikes, cell_of(raw(old), 7, 12)));
  EXPECT_TRUE(deletes(seal(executor).at(0).batch, stored::actor(partition)));
  add(executor, kLikes, 1);
  executor.take_actor_back(partition);
  EXPECT_NE(executor.actor(partition), old);
  EXPECT_NE(find_put(seal(executor).at(0).batch, stored::actor(partition)), nullptr);
}

TEST(Executor, writes_under_no_old_actor_once_it_became_another_store) {
  Executor executor = fresh_executor(1);
  executor.start(BootId{1});
  add(executor, kLikes, 1);
  executor.seal();
  (void)executor.take_sealed();
  executor.become(StoreId{77});
  add(executor, kLikes, 1);
  const std::vector<Sealed> sealed = seal(executor);

  EXPECT_EQ(state(executor, kLikes).cells.size(), 2u);
  EXPECT_EQ(executor.meta().store, StoreId{77});
  EXPECT_TRUE(executor.meta().marked);
  const std::string name = stored::actor(partition_of(executor, kLikes));
  ASSERT_NE(find_put(sealed.back().batch, name), nullptr);
  EXPECT_FALSE(deletes(sealed.back().batch, name)) << "the new one must last";
}

// What filled the one before may have been lost with its last records.
TEST(Executor, counts_by_nothing_that_filled_it_before_it_became_another_store) {
  Executor executor = fresh_executor(1);
  executor.start(BootId{1});
  executor.edit_meta().filled_from = {NodeId{2}, NodeId{3}};
  executor.become(StoreId{77});
  EXPECT_TRUE(executor.meta().filled_from.empty());
}

// ---- drop ----

TEST(Executor, deletes_a_dropped_partition_with_its_actor_in_one_batch) {
  Executor executor =
      fresh_executor(1, {.placement = {}, .tokens = {}, .checkpoint = {.journal_bytes = 1}});
  add(executor, kLikes, 1);
  add(executor, kViews, 2);
  for (int i = 0; i < 3; ++i) executor.seal();  // a checkpoint puts both
  (void)executor.take_sealed();
  const Partition partition = partition_of(executor, kLikes);
  ASSERT_NE(partition, partition_of(executor, kViews));

  executor.drop(partition);
  EXPECT_FALSE(executor.has_open()) << "it is sealed already";
  const std::vector<Sealed> sealed = executor.take_sealed();
  ASSERT_FALSE(sealed.empty());
  const Batch& batch = sealed.back().batch;
  EXPECT_TRUE(deletes(batch, stored::shard(executor.map().place(kLikes), kLikes)));
  EXPECT_TRUE(deletes(batch, stored::actor(partition)));
  EXPECT_FALSE(deletes(batch, stored::shard(executor.map().place(kViews), kViews)));
  EXPECT_EQ(value(executor, kLikes), 0);
  EXPECT_FALSE(exists(executor, kLikes));
  EXPECT_FALSE(executor.has_actor(partition));
  EXPECT_EQ(value(executor, kViews), 2);
}

TEST(Executor, counts_under_another_actor_in_a_partition_that_it_dropped_before) {
  Executor executor = fresh_executor(1);
  Executor peer = fresh_executor(2);
  add(executor, kLikes, 10);
  executor.seal();
  peer.merge(tell(executor, {kLikes}));
  executor.drop(partition_of(executor, kLikes));
  add(executor, kLikes, 1);
  executor.seal();
  peer.merge(tell(executor, {kLikes}));
  EXPECT_EQ(value(peer, kLikes), 11) << "its own past must not swallow it";
}

// Puts go before deletes in a batch: the new state must not be in one with the
// deletes of the old.
TEST(Executor, keeps_what_comes_into_a_partition_right_after_its_drop) {
  for (const int seals : {1, 2, 3, 4}) {  // so that the drop meets a checkpoint at each stage
    Executor executor =
        fresh_executor(1, {.placement = {}, .tokens = {}, .checkpoint = {.journal_bytes = 1}});
    std::map<std::string, std::string> disk;
    const auto seal_and_write = [&] {
      for (const Sealed& sealed : seal(executor)) {
        for (const auto& [key, value] : sealed.batch.puts) disk[key] = value;
        for (const std::string& key : sealed.batch.deletes) disk.erase(key);
      }
    };
    add(executor, kLikes, 10);
    for (int i = 0; i < seals; ++i) seal_and_write();
    executor.drop(partition_of(executor, kLikes));
    add(executor, kLikes, 1);
    for (int i = 0; i < 9; ++i) seal_and_write();

    const std::string name = stored::shard(executor.map().place(kLikes), kLikes);
    ASSERT_TRUE(disk.contains(name)) << "after " << seals;
    EXPECT_EQ(*decode_shard_state(name, disk[name]), state(executor, kLikes));
    EXPECT_TRUE(disk.contains(stored::actor(partition_of(executor, kLikes))));
  }
}

}  // namespace
}  // namespace quipu::test
