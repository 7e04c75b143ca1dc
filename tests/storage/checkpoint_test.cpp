#include "storage/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/storage/executors.h"

namespace quipu::test {
namespace {

ExecutorOptions tiny(CheckpointLimits limits) {
  return {.placement = {}, .tokens = {}, .checkpoint = limits};
}

ShardKey numbered(std::size_t i) { return {"k" + std::to_string(i), 0}; }

std::size_t count_puts(const Batch& batch, char kind) {
  return static_cast<std::size_t>(std::count_if(
      batch.puts.begin(), batch.puts.end(), [&](const auto& put) { return put.key[0] == kind; }));
}

std::size_t count_deletes(const Batch& batch, char kind) {
  return static_cast<std::size_t>(std::count_if(batch.deletes.begin(), batch.deletes.end(),
                                                [&](const auto& key) { return key[0] == kind; }));
}

// The disk after these batches.
using Stored = std::map<std::string, std::string>;
void keep(Stored& disk, const std::vector<Sealed>& sealed) {
  for (const Sealed& one : sealed) {
    for (const auto& [key, value] : one.batch.puts) disk[key] = value;
    for (const std::string& key : one.batch.deletes) disk.erase(key);
  }
}

std::size_t records_in(const Stored& disk) {
  return static_cast<std::size_t>(std::distance(disk.lower_bound("j"), disk.lower_bound("k")));
}

TEST(Checkpoint, leaves_states_to_the_journal_while_that_is_short) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1 << 20}));
  for (std::size_t i = 0; i < 100; ++i) {
    add(executor, numbered(i), 1);
    const Batch batch = seal(executor).at(0).batch;
    EXPECT_EQ(count_puts(batch, 's'), 0u);
    EXPECT_EQ(batch.deletes.size(), 0u);
  }
  EXPECT_FALSE(executor.checkpointing());
  EXPECT_EQ(executor.map().ledger().dirty(), 100u);
}

TEST(Checkpoint, puts_every_dirty_state_in_slices_and_then_cuts_the_journal) {
  Executor executor =
      fresh_executor(1, tiny({.journal_bytes = 2000, .slice_states = 10, .cut_records = 3}));
  // Five records of seven new shards each; the journal is long enough at the fifth.
  Stored disk;
  std::size_t shards = 0;
  while (!executor.checkpointing()) {
    for (int i = 0; i < 7; ++i) add(executor, numbered(shards++), 1);
    keep(disk, seal(executor));
  }
  const Commit first_slice = executor.sealed();
  ASSERT_GT(raw(first_slice), 4u);

  std::size_t put = shards - executor.map().ledger().dirty();
  EXPECT_EQ(put, 10u) << "the first slice stands with the record that started it";
  while (executor.map().ledger().dirty() > 0) {
    const Sealed slice = std::move(seal(executor).at(0));
    EXPECT_LE(count_puts(slice.batch, 's'), 10u);
    EXPECT_EQ(count_deletes(slice.batch, 'j'), 0u) << "nothing goes before all is put";
    put += count_puts(slice.batch, 's');
    keep(disk, {slice});
  }
  EXPECT_EQ(put, shards) << "each once";
  EXPECT_EQ(executor.states_put(), shards);

  std::vector<std::size_t> cuts;
  while (executor.checkpointing()) {
    const Sealed cut = std::move(seal(executor).at(0));
    cuts.push_back(count_deletes(cut.batch, 'j'));
    EXPECT_EQ(count_puts(cut.batch, 'm'), cuts.size() == 1 ? 1u : 0u);
    EXPECT_EQ(executor.meta().journal_first, next(first_slice)) << "from the first cut on";
    keep(disk, {cut});
  }
  std::size_t sum = 0;
  for (const std::size_t records_cut : cuts) {
    EXPECT_LE(records_cut, 3u);
    sum += records_cut;
  }
  EXPECT_EQ(sum, raw(first_slice));
  EXPECT_EQ(records_in(disk), raw(executor.sealed()) - raw(first_slice)) << "later records stay";
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string key = stored::shard(executor.map().place(numbered(i)), numbered(i));
    EXPECT_EQ(*decode_shard_state(key, disk.at(key)), state(executor, numbered(i)));
  }
}

TEST(Checkpoint, puts_a_slice_in_the_order_of_its_keys) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 1000}));
  for (std::size_t i = 0; i < 500; ++i) add(executor, numbered(i), 1);
  const Batch batch = seal(executor).at(0).batch;
  std::vector<std::string> keys;
  for (const Batch::Put& put : batch.puts) {
    if (put.key[0] == 's') keys.push_back(put.key);
  }
  EXPECT_EQ(keys.size(), 500u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(Checkpoint, never_puts_a_sum_newer_than_the_record_beside_it) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 5}));
  std::map<ShardKey, ShardState> recorded;
  JournalNames names;
  for (std::int64_t round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < 8; ++i) add(executor, numbered((i * 7 + round) % 20), round);
    const Sealed sealed = std::move(seal(executor).at(0));
    record_of(sealed, names).delta.for_each([&](const DeltaEntry& entry) {
      merge(recorded[{std::string(entry.ref.key), entry.ref.shard}], entry);
    });
    for (const auto& [key, value] : sealed.batch.puts) {
      if (key[0] != 's') continue;
      const auto name = stored::parse_shard(key);
      const ShardKey shard{std::string(name->ref.key), name->ref.shard};
      EXPECT_EQ(*decode_shard_state(key, value), recorded.at(shard)) << shard.key;
    }
  }
}

TEST(Checkpoint, leaves_a_state_that_changed_after_its_slice_to_the_next_one) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 100}));
  add(executor, numbered(1), 1);
  (void)seal(executor);  // slices
  add(executor, numbered(1), 1);
  (void)seal(executor);  // cuts
  EXPECT_EQ(executor.map().ledger().dirty(), 1u);
  (void)seal(executor);  // the next one's slices
  EXPECT_EQ(executor.map().ledger().dirty(), 0u);
}

TEST(Checkpoint, goes_on_with_empty_records_when_nothing_else_is_to_be_sealed) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 1}));
  for (std::size_t i = 0; i < 5; ++i) add(executor, numbered(i), 1);
  (void)seal(executor);
  int seals = 0;
  while (executor.checkpointing() && ++seals < 100) (void)seal(executor);
  EXPECT_LT(seals, 100);
  EXPECT_EQ(executor.map().ledger().dirty(), 0u);
}

// A reset of what is open seals by itself, and a batch may bring thousands.
TEST(Checkpoint, takes_one_step_however_often_one_batch_seals) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 10}));
  for (std::size_t i = 0; i < 1000; ++i) add(executor, numbered(i), 1);
  const ShardKey hot{"hot", 0};
  for (int i = 0; i < 50; ++i) {
    add(executor, hot, 1);
    reset(executor, hot);
  }
  executor.seal();
  const std::vector<Sealed> sealed = executor.take_sealed();
  ASSERT_GT(sealed.size(), 50u);
  std::size_t puts = 0;
  for (const Sealed& one : sealed) puts += count_puts(one.batch, 's');
  EXPECT_EQ(std::ranges::count_if(sealed,
                                  [](const Sealed& one) { return count_puts(one.batch, 's') > 0; }),
            1);
  EXPECT_LT(puts, 1000u) << "as many bytes as the records brought, once";
}

TEST(Checkpoint, puts_sessions_too_before_it_cuts) {
  Executor executor = fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 2}));
  Stored disk;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const Serial serial = executor.issue_session();
    add(executor, numbered(1), 1, {StoreId{1}, serial, 1, 0});
  }
  for (int seals = 0; seals == 0 || executor.checkpointing(); ++seals) {
    ASSERT_LT(seals, 100);
    const std::vector<Sealed> sealed = seal(executor);
    if (count_deletes(sealed[0].batch, 'j') > 0) {
      std::set<Serial> at_rest;
      for (const auto& [key, value] : disk) {
        if (key[0] == 't') at_rest.insert(decode_token_record(key, value)->serial);
      }
      EXPECT_EQ(at_rest.size(), 5u);
    }
    keep(disk, sealed);
  }
}

// Load that never stops: each record brings as much as a slice takes away.
TEST(Checkpoint, keeps_the_journal_bounded_under_load) {
  constexpr std::size_t kJournalBytes = 20000;
  Executor executor = fresh_executor(
      1, tiny({.journal_bytes = kJournalBytes, .slice_states = 40, .cut_records = 100}));
  std::vector<Serial> serials;
  for (int i = 0; i < 10; ++i) serials.push_back(executor.issue_session());
  Stored disk;
  std::size_t longest = 0, starts = 0;
  bool running = false;
  std::uint64_t number = 0;
  for (std::size_t round = 0; round < 3000; ++round) {
    ++number;
    for (std::size_t i = 0; i < 20; ++i) {
      const Token token{StoreId{1}, serials[i % 10], 2 * number + i / 10, 2 * number - 8};
      add(executor, numbered((round * 20 + i * 31) % 997), 1, token);
    }
    keep(disk, seal(executor));
    longest = std::max(longest, records_in(disk));
    starts += executor.checkpointing() && !running ? 1 : 0;
    running = executor.checkpointing();
  }
  EXPECT_GT(starts, 20u);
  EXPECT_LT(longest, 200u) << "records that were on the disk at once";
}

std::size_t bytes_of(const Stored& disk, const char* from, const char* to) {
  std::size_t bytes = 0;
  for (auto at = disk.lower_bound(from); at != disk.lower_bound(to); ++at)
    bytes += at->first.size() + at->second.size();
  return bytes;
}

// Records that each bring far more states than a slice takes away at the least.
TEST(Checkpoint, goes_faster_the_larger_the_records_are) {
  constexpr std::size_t kJournalBytes = 20000;
  constexpr std::size_t kStates = 20000;
  Executor executor = fresh_executor(
      1, tiny({.journal_bytes = kJournalBytes, .slice_states = 10, .cut_records = 100}));
  Stored disk;
  std::size_t longest = 0, seals = 0, starts = 0;
  for (bool running = false; starts < 4; ++seals) {
    ASSERT_LT(seals, 1000u) << "checkpoints do not end";
    for (std::size_t i = 0; i < 2000; ++i)
      add(executor, numbered((seals * 2000 + i * 7) % kStates), 1);
    const std::vector<Sealed> sealed = seal(executor);
    std::size_t record = 0, slice = 0;
    for (const auto& [key, value] : sealed[0].batch.puts)
      (key[0] == 's' ? slice : record) += key.size() + value.size();
    EXPECT_LT(slice, record + 10'000) << "a seal costs about twice its record";
    keep(disk, sealed);
    longest = std::max(longest, bytes_of(disk, "j", "k"));
    starts += executor.checkpointing() && !running ? 1 : 0;
    running = executor.checkpointing();
  }
  EXPECT_LT(longest, kJournalBytes + 2 * bytes_of(disk, "s", "t") + 200'000);
}

// What is hot lies in one partition, and is more than a slice.
TEST(Checkpoint, ends_although_all_that_it_put_changes_again_at_once) {
  Executor executor =
      fresh_executor(1, tiny({.journal_bytes = 1, .slice_states = 3, .cut_records = 100}));
  std::vector<ShardKey> hot;
  for (std::size_t i = 0; hot.size() < 20; ++i) {
    if (raw(partition_of(executor, numbered(i))) == 7) hot.push_back(numbered(i));
  }
  Stored disk;
  std::size_t longest = 0;
  for (int seals = 0; seals < 500; ++seals) {
    for (const ShardKey& one : hot) add(executor, one, 1);
    keep(disk, seal(executor));
    longest = std::max(longest, records_in(disk));
  }
  EXPECT_LT(longest, 40u);
}

}  // namespace
}  // namespace quipu::test
