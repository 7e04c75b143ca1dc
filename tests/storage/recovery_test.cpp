#include "storage/recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

Code start_code(MemoryDisk disk) { return start(disk).status().code(); }

// A disk with every kind of key on it: states, tokens and definitions at rest, and a journal.
MemoryDisk full_disk() {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk, kTiny));
  const Serial serial = executor->issue_session();
  for (std::uint64_t i = 1; i <= 12; ++i) {
    add(*executor, {"k" + std::to_string(i % 4), 0}, 1, {executor->meta().store, serial, i, 0});
    write(disk, seal(*executor));
  }
  for (const char* name : {"", "likes"}) {
    executor->merge_namespace({.name = name, .changed = {1, kOwner.node}, .policy = {.shards = 2}});
  }
  write(disk, seal(*executor));
  return disk;
}

std::vector<std::string> keys_of(const MemoryDisk& disk, char kind) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : disk.durable) {
    if (key[0] == kind) keys.push_back(key);
  }
  return keys;
}

// ---- starts ----

TEST(Recovery, starts_a_new_store_at_its_first_commit) {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk));
  EXPECT_EQ(executor->sealed(), Commit{1});
  EXPECT_FALSE(executor->has_open());
  EXPECT_EQ(executor->map().ledger().size(), 0u);
  ASSERT_EQ(executor->meta().lineage.size(), 1u);
  EXPECT_EQ(executor->meta().lineage[0].first, Commit{1});
  EXPECT_FALSE(executor->meta().marked);
}

TEST(Recovery, makes_each_start_durable_before_anything_is_shown) {
  MemoryDisk disk = new_disk();
  std::set<BootId> boots;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto executor = std::move(*start(disk, {}, i));
    boots.insert(executor->meta().lineage.back().boot);
    EXPECT_EQ(executor->meta().lineage.back().first, Commit{i});
  }  // and it dies without a word
  const auto executor = std::move(*start(disk, {}, 4));
  EXPECT_EQ(executor->meta().lineage.size(), 4u);
  EXPECT_EQ(boots.size(), 3u);
}

TEST(Recovery, keeps_a_bounded_lineage) {
  MemoryDisk disk = new_disk();
  for (std::uint64_t i = 0; i <= kMaxLineage; ++i) ASSERT_TRUE(start(disk, {}, i).ok());
  const auto executor = std::move(*start(disk));
  EXPECT_EQ(executor->meta().lineage.size(), kMaxLineage);
  EXPECT_EQ(executor->meta().lineage.back().first, executor->sealed());
}

TEST(Recovery, marks_a_store_that_replaces_another) {
  Random random(1);
  EXPECT_FALSE(new_meta(kOwner, NewStore::unmarked, random).marked);
  EXPECT_TRUE(new_meta(kOwner, NewStore::marked, random).marked);
  EXPECT_NE(new_meta(kOwner, NewStore::marked, random).store,
            new_meta(kOwner, NewStore::marked, random).store);
}

TEST(Recovery, finds_the_placement_in_the_founding_and_in_nothing_else) {
  Pins pins{.founded = true,
            .founding = {{NodeId{1}, StoreId{10}, 0}, {NodeId{2}, StoreId{20}, 0}},
            .current = {},
            .retired = {}};
  const HashKey key = placement_key(pins);
  pins.current = {{NodeId{1}, StoreId{99}, 1}};
  pins.retired = {StoreId{10}};
  EXPECT_EQ(placement_key(pins), key);
  pins.founding[1].store = StoreId{21};
  EXPECT_NE(placement_key(pins), key);
}

TEST(Recovery, counts_on_under_the_same_actor_and_the_next_number) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  add(*executor, kLikes, 7);
  write(disk, seal(*executor));
  const Cell before = state(*executor, kLikes).cells.at(0);

  executor = std::move(*start(disk, {}, /*seed=*/8));
  EXPECT_EQ(state(*executor, kLikes).cells, std::vector<Cell>{before});
  add(*executor, kLikes, 1);
  const std::vector<Cell> after = state(*executor, kLikes).cells;
  ASSERT_EQ(after.size(), 1u) << "replaying its own record is no sign of a lost life";
  EXPECT_EQ(after[0], (Cell{before.actor, next(executor->sealed()), 8, {}, 0}));
}

TEST(Recovery, does_not_bring_a_forgotten_actor_back) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  add(*executor, kLikes, 7);
  write(disk, seal(*executor));
  executor->forget_actor(executor->map().place(kLikes).partition());
  write(disk, seal(*executor));

  executor = std::move(*start(disk, {}, /*seed=*/8));
  add(*executor, kLikes, 1);
  EXPECT_EQ(state(*executor, kLikes).cells.size(), 2u);
}

TEST(Recovery, forgets_what_was_never_sealed) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk));
  add(*executor, kLikes, 7);
  executor = std::move(*start(disk));
  EXPECT_FALSE(exists(*executor, kLikes));
}

// Or a node that dies often would never cut its journal.
TEST(Recovery, counts_the_journal_that_it_replayed_towards_the_next_checkpoint) {
  const ExecutorOptions options{
      .placement = {}, .tokens = {}, .checkpoint = {.journal_bytes = 3000}};
  MemoryDisk disk = new_disk();
  std::size_t longest = 0;
  for (std::uint64_t life = 0; life < 200; ++life) {
    const auto executor = std::move(*start(disk, options, life));
    add(*executor, kLikes, 1);
    write(disk, seal(*executor));
    longest = std::max(longest, keys_of(disk, 'j').size());
  }
  EXPECT_LT(longest, 50u);
}

// Which records are left is told by the disk alone: nothing else was put for it.
TEST(Recovery, goes_on_with_the_cut_that_it_finds) {
  MemoryDisk disk = new_disk();
  auto executor = std::move(*start(disk, kTiny));
  const auto first = [&] { return executor->meta().journal_first; };
  const auto oldest = [&] { return stored::parse_record(keys_of(disk, 'j').at(0)).value(); };
  while (oldest() == first()) {
    add(*executor, kLikes, 1);
    write(disk, seal(*executor));
  }
  ASSERT_LT(oldest(), first()) << "a batch deletes few";
  const Commit left = oldest();
  executor = std::move(*start(disk, kTiny));
  EXPECT_GT(oldest(), left) << "its first record deletes some";
  while (oldest() < first()) {
    ASSERT_TRUE(executor->checkpointing());
    add(*executor, kLikes, 1);
    write(disk, seal(*executor));
  }
}

TEST(Recovery, gives_no_serial_out_twice_even_from_an_old_copy) {
  MemoryDisk disk = new_disk();
  const MemoryDisk copy = disk;
  std::set<Serial> given;
  for (std::uint64_t life = 1; life <= 20; ++life) {
    if (life % 5 == 0) disk = copy;
    auto executor = std::move(*start(disk, {}, /*seed=*/life));
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(given.insert(executor->issue_session()).second);
    write(disk, seal(*executor));
  }
}

TEST(Recovery, finds_a_state_that_holds_nothing_corrupt) {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk));
  const std::string key = stored::shard(executor->map().place(kLikes), kLikes);
  disk.durable[key] = encode_shard_state(key, ShardState());
  EXPECT_EQ(start_code(disk), Code::corrupt);
}

TEST(Recovery, finds_a_state_with_more_cells_than_any_may_have_corrupt) {
  ShardState too_many;
  for (std::uint64_t i = 1; i <= kMaxCells + 1; ++i)
    too_many.cells.push_back({ActorId{i}, Commit{1}, 1, {}, 0});
  MemoryDisk at_rest = new_disk();
  const auto executor = std::move(*start(at_rest));
  const std::string key = stored::shard(executor->map().place(kLikes), kLikes);
  at_rest.durable[key] = encode_shard_state(key, too_many);
  EXPECT_EQ(start_code(at_rest), Code::corrupt);

  MemoryDisk in_a_record = new_disk();
  { (void)start(in_a_record); }
  const std::string name = stored::record(Commit{2});
  Record record{Delta(Commit{2}), {}};
  record.delta.push(kLikes, too_many);
  in_a_record.durable[name] = encode_record(name, record);
  EXPECT_EQ(start_code(in_a_record), Code::corrupt);
}

TEST(Recovery, finds_an_own_state_beyond_the_last_record_corrupt) {
  MemoryDisk disk = new_disk();
  const auto executor = std::move(*start(disk));
  add(*executor, kLikes, 1);
  write(disk, seal(*executor));
  const std::string key = stored::shard(executor->map().place(kLikes), kLikes);
  ShardState changed = state(*executor, kLikes);
  disk.durable[key] = encode_shard_state(key, changed);
  EXPECT_EQ(start_code(disk), Code::ok);
  changed.cells[0].commit = next(executor->sealed());
  changed.cells[0].sum = 2;
  disk.durable[key] = encode_shard_state(key, changed);
  EXPECT_EQ(start_code(disk), Code::corrupt);
}

TEST(Recovery, finds_an_alias_that_no_record_gave_corrupt) {
  MemoryDisk disk = new_disk();
  { (void)start(disk); }
  const std::string name = stored::record(Commit{2});
  disk.durable[name] = encode_record(name, {Delta(Commit{2}), {}, {}, {{Alias{1}, 7}}});
  EXPECT_EQ(start_code(disk), Code::corrupt);
}

TEST(Recovery, finds_a_state_under_another_partition_or_leaf_corrupt) {
  for (const std::size_t changed : {2u, 3u}) {  // the low byte of the partition, and the leaf
    MemoryDisk disk = new_disk();
    const auto executor = std::move(*start(disk));
    std::string key = stored::shard(executor->map().place(kLikes), kLikes);
    const ShardState state = cell_of(1, 1, 5);
    disk.durable[key] = encode_shard_state(key, state);
    EXPECT_EQ(start_code(disk), Code::ok);
    key[changed] = static_cast<char>(key[changed] ^ 1);
    disk.durable[key] = encode_shard_state(key, state);
    EXPECT_EQ(start_code(disk), Code::corrupt) << "it would count twice";
  }
}

// ---- tokens across a restart: what a retry meets ----

TEST(Recovery, knows_what_each_token_did_before_the_restart) {
  for (const std::size_t journal_bytes :
       {std::size_t{1} << 20, std::size_t{1}}) {  // in it, or at rest
    const ExecutorOptions options{
        .placement = {}, .tokens = {}, .checkpoint = {.journal_bytes = journal_bytes}};
    MemoryDisk disk = new_disk();
    auto executor = std::move(*start(disk, options));
    const StoreId store = executor->meta().store;
    const Serial serial = executor->issue_session();
    const auto token = [&](std::uint64_t number) { return Token{store, serial, number, 2}; };
    add(*executor, kLikes, 1, token(1));
    add(*executor, kLikes, kMax - 1, token(2));
    EXPECT_EQ(add(*executor, kLikes, kMax, token(3)).code, Code::out_of_range);
    for (int i = 0; i < 6; ++i) write(disk, seal(*executor));

    executor = std::move(*start(disk, options));
    EXPECT_EQ(add(*executor, kLikes, kMax - 1, token(2)).code, Code::ok) << "not applied again";
    EXPECT_EQ(add(*executor, kLikes, kMax - 1, token(2)).commit, Commit{}) << "durable long since";
    EXPECT_EQ(add(*executor, kLikes, 5, token(2)).code, Code::token_reused);
    EXPECT_EQ(add(*executor, kLikes, kMax, token(3)).code, Code::out_of_range);
    EXPECT_EQ(add(*executor, kLikes, 1, token(1)).code, Code::token_expired);
    EXPECT_EQ(add(*executor, kLikes, -1, token(4)).code, Code::in_doubt) << "lost, or never seen";
    EXPECT_EQ(value(*executor, kLikes), kMax);
    confirm(*executor);
    EXPECT_EQ(add(*executor, kLikes, -1, token(4)).code, Code::ok);
    EXPECT_EQ(value(*executor, kLikes), kMax - 1);
  }
}

// ---- refusals ----

TEST(Recovery, refuses_another_clusters_or_another_nodes_store) {
  MemoryDisk disk = full_disk();
  MemoryStore store(disk);
  Random random(1);
  const auto code = [&](StoreOwner owner) {
    return recover(store, owner, {}, random).status().code();
  };
  EXPECT_EQ(code({ClusterId{99}, kOwner.node}), Code::cannot_start);
  EXPECT_EQ(code({kOwner.cluster, NodeId{99}}), Code::cannot_start);
  EXPECT_EQ(code(kOwner), Code::ok);
}

TEST(Recovery, writes_nothing_to_a_store_that_it_refuses) {
  MemoryDisk disk = full_disk();
  const auto before = disk.durable;
  MemoryStore store(disk);
  Random random(1);
  EXPECT_FALSE(recover(store, {ClusterId{99}, kOwner.node}, {}, random).ok());
  disk.durable.erase(keys_of(disk, 'j').at(1));
  const auto damaged = disk.durable;
  EXPECT_EQ(start(disk).status().code(), Code::corrupt);
  EXPECT_EQ(disk.durable, damaged);
  EXPECT_NE(disk.durable, before);
}

TEST(Recovery, passes_on_why_the_disk_would_not_take_the_start) {
  MemoryDisk disk = full_disk();
  disk.fault = MemoryDisk::Fault::full;
  EXPECT_EQ(start_code(disk), Code::storage_full);
  disk.fault = MemoryDisk::Fault::failed_sync;
  EXPECT_EQ(start_code(disk), Code::storage_failed);
}

TEST(Recovery, for_reads_needs_no_room_and_takes_no_place_in_the_lineage) {
  MemoryDisk disk = full_disk();
  const auto before = disk.durable;
  disk.fault = MemoryDisk::Fault::full;
  MemoryStore store(disk);
  Random random(1);
  const auto reader = recover_for_reads(store, kOwner, kTiny, random);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_FALSE((*reader)->has_open());
  EXPECT_TRUE((*reader)->take_sealed().empty());
  EXPECT_EQ(disk.durable, before);
  disk.fault = MemoryDisk::Fault::none;
  const auto executor = std::move(*start(disk, kTiny));
  EXPECT_EQ((*reader)->map().ledger().size(), executor->map().ledger().size());
  EXPECT_EQ(next((*reader)->sealed()), executor->sealed());
  EXPECT_EQ((*reader)->meta().lineage.size() + 1, executor->meta().lineage.size());
}

TEST(Recovery, for_reads_of_a_store_that_was_never_used_says_that_there_is_no_room) {
  MemoryDisk disk = new_disk();
  MemoryStore store(disk);
  Random random(1);
  EXPECT_EQ(recover_for_reads(store, kOwner, kTiny, random).status().code(), Code::storage_full);
}

TEST(Recovery, calls_a_store_without_identity_corrupt) {
  MemoryDisk disk = full_disk();
  disk.durable.erase(stored::meta());
  EXPECT_EQ(start_code(disk), Code::corrupt);
  EXPECT_EQ(start_code(MemoryDisk{}), Code::corrupt);
}

TEST(Recovery, calls_a_missing_record_corrupt) {
  const MemoryDisk disk = full_disk();
  const std::vector<std::string> records = keys_of(disk, 'j');
  ASSERT_GE(records.size(), 3u);
  EXPECT_EQ(start_code(disk), Code::ok);
  for (std::size_t i = 0; i + 1 < records.size(); ++i) {  // the newest may never have been written
    MemoryDisk damaged = disk;
    damaged.durable.erase(records[i]);
    EXPECT_EQ(start_code(damaged), Code::corrupt) << "record " << i << " of " << records.size();
    EXPECT_NE(start(damaged).status().detail().find("missing"), std::string::npos);
  }
}

TEST(Recovery, calls_a_store_whose_last_start_is_not_in_the_journal_corrupt) {
  MemoryDisk disk = new_disk();
  ASSERT_TRUE(start(disk).ok());
  for (const std::string& record : keys_of(disk, 'j')) disk.durable.erase(record);
  EXPECT_EQ(start_code(disk), Code::corrupt);
}

// As true as its checksum is, no node wrote it: it would trip over it later.
void change_meta(MemoryDisk& disk, void (*change)(Meta&)) {
  std::string& value = disk.durable.at(stored::meta());
  Meta meta = *decode_meta(stored::meta(), value);
  change(meta);
  value = encode_meta(stored::meta(), meta);
}

TEST(Recovery, calls_counters_in_a_store_that_was_never_founded_corrupt) {
  const auto forget_founding = [](Meta& meta) { meta.pins.founded = false; };
  MemoryDisk disk = full_disk();
  change_meta(disk, forget_founding);
  EXPECT_EQ(start_code(disk), Code::corrupt);
  MemoryDisk by_nobody = full_disk();
  change_meta(by_nobody, [](Meta& meta) { meta.pins.founding.clear(); });
  EXPECT_EQ(start_code(by_nobody), Code::corrupt);
  MemoryDisk empty = new_disk();
  change_meta(empty, forget_founding);
  EXPECT_EQ(start_code(empty), Code::ok);
  change_meta(empty, [](Meta& meta) { meta.pins.retired = {StoreId{7}}; });
  EXPECT_EQ(start_code(empty), Code::corrupt) << "nothing is replaced before the founding";
}

TEST(Recovery, calls_a_first_record_at_either_end_of_the_numbers_corrupt) {
  MemoryDisk none = new_disk();
  change_meta(none, [](Meta& meta) { meta.journal_first = Commit{0}; });
  EXPECT_EQ(start_code(none), Code::corrupt);
  MemoryDisk last = new_disk();
  change_meta(last, [](Meta& meta) { meta.journal_first = Commit{UINT64_MAX}; });
  EXPECT_EQ(start_code(last), Code::corrupt);
  MemoryDisk late = new_disk();
  change_meta(late, [](Meta& meta) { meta.journal_first = Commit{UINT64_MAX / 2}; });
  EXPECT_EQ(start_code(late), Code::ok);
  MemoryDisk behind = full_disk();
  change_meta(behind, [](Meta& meta) { meta.journal_first = Commit{UINT64_MAX / 2}; });
  EXPECT_EQ(start_code(behind), Code::corrupt) << "a cut leaves no gap before it";
}

TEST(Recovery, calls_every_flipped_byte_of_every_value_corrupt) {
  const MemoryDisk disk = full_disk();
  for (const char kind : {'a', 'j', 'm', 'n', 's', 't'})
    EXPECT_FALSE(keys_of(disk, kind).empty()) << kind;
  for (const auto& [key, value] : disk.durable) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      MemoryDisk damaged = disk;
      damaged.durable[key][i] = static_cast<char>(value[i] ^ 0x10);
      ASSERT_EQ(start_code(damaged), Code::corrupt) << key[0] << ", byte " << i;
    }
  }
}

TEST(Recovery, calls_values_cut_short_or_under_anothers_key_corrupt) {
  const MemoryDisk disk = full_disk();
  for (const char kind : {'a', 'j', 'n', 's', 't'}) {
    const std::vector<std::string> keys = keys_of(disk, kind);
    ASSERT_GE(keys.size(), 2u);
    MemoryDisk swapped = disk;
    std::swap(swapped.durable[keys[0]], swapped.durable[keys[1]]);
    EXPECT_EQ(start_code(swapped), Code::corrupt) << kind;
    MemoryDisk cut = disk;
    cut.durable[keys[0]].pop_back();
    EXPECT_EQ(start_code(cut), Code::corrupt) << kind;
    MemoryDisk empty = disk;
    empty.durable[keys[0]].clear();
    EXPECT_EQ(start_code(empty), Code::corrupt) << kind;
  }
}

TEST(Recovery, calls_a_name_that_it_cannot_read_corrupt) {
  const MemoryDisk disk = full_disk();
  for (const char kind : {'a', 'j', 'n', 's', 't'}) {
    MemoryDisk damaged = disk;
    damaged.durable[std::string(1, kind) + "?"] = disk.durable.at(keys_of(disk, kind)[0]);
    EXPECT_EQ(start_code(damaged), Code::corrupt) << kind;
  }
}

}  // namespace
}  // namespace quipu::test
