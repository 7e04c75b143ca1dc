#include "storage/shard_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "storage/stored_keys.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

constexpr HashKey kKey{0x5eed};
constexpr std::int64_t kMax48 = (std::int64_t{1} << 47) - 1;
constexpr std::int64_t kMin48 = -kMax48 - 1;
constexpr std::uint64_t kNarrowCommit = (std::uint64_t{1} << 48) - 1;

using States = std::map<ShardKey, ShardState>;

void put_state(ShardMap& map, ShardRef ref, const ShardState& state, std::uint8_t flags = 0) {
  map.put(map.place(ref), ref, state, flags);
}

// As the executor changes an own cell in place.
void touch_and_add(ShardMap& map, ShardRef ref, ActorId actor, std::int64_t amount, Commit commit) {
  const Placement placement = map.place(ref);
  Entry* entry = map.find(placement, ref);
  const bool existed = entry->total().exists;
  map.touch(placement, entry, Entry::kLocal);
  Entry::CellRef cell = entry->find(map.actors().intern(actor));
  cell.set(commit, cell.sum() + amount);
  if (!existed) map.revived(placement, *entry);
}

void checkpoint_all(ShardMap& map) {
  map.take_open([](const Entry&) {});  // only what is sealed is put
  std::vector<Entry*> dirty;
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    map.collect_dirty(Partition{p}, std::nullopt, dirty);
    for (Entry* entry : dirty) map.mark_clean(Partition{p}, entry, Commit{1});
  }
}

std::vector<ShardKey> taken(ShardMap& map) {
  std::vector<ShardKey> names;
  map.take_open([&](const Entry& entry) {
    names.push_back({std::string(entry.ref().key), entry.ref().shard});
  });
  return names;
}

ShardState one_cell(std::uint64_t actor, std::uint64_t commit, std::int64_t sum) {
  return {.cells = {{ActorId{actor}, Commit{commit}, sum, {}, 0}}};
}

// Any state that a decoder lets through, its numbers drawn near the edges, also near
// those of what a cell takes.
ShardState some_state() {
  const auto sums = rc::gen::weightedOneOf<std::int64_t>(
      {{4, rc::gen::inRange<std::int64_t>(-100, 100)},
       {1, rc::gen::element(kMin, kMax, kMin48, kMin48 - 1, kMax48, kMax48 + 1)}});
  const auto commits = rc::gen::weightedOneOf<std::uint64_t>(
      {{4, rc::gen::inRange<std::uint64_t>(0, 5)},
       {1, rc::gen::element(kNarrowCommit, kNarrowCommit + 1, ~std::uint64_t{0})}});
  const auto drawn =
      *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(1, 20));
  ShardState state;
  for (const std::uint64_t actor : std::set(drawn.begin(), drawn.end())) {
    Cell cell{ActorId{actor}, Commit{*commits}, *sums, {}, 0};
    if (*rc::gen::arbitrary<bool>()) {
      cell.cleared_commit = Commit{*commits};
      cell.cleared_sum = *sums;
    }
    state.cells.push_back(cell);
  }
  state.shard_count = *rc::gen::inRange<ShardIndex>(1, 4);
  state.usable_shards =
      *rc::gen::inRange<ShardIndex>(1, static_cast<ShardIndex>(state.shard_count + 1));
  if (*rc::gen::inRange(0, 3) == 0) {
    // Narrow, and at the edges of what a narrow time holds.
    const auto times = rc::gen::map(
        rc::gen::element<std::int64_t>(0, 1'577'836'800'000, 1'577'836'800'001, 1'700'000'000'000,
                                       1'577'836'800'000 + (std::int64_t{1} << 40) - 1,
                                       1'577'836'800'000 + (std::int64_t{1} << 40), 1, kMax48 / 2),
        [](std::int64_t ms) { return Wall{std::chrono::milliseconds(ms)}; });
    Life& life = state.life;
    life = {*times, *times, *times, {}, *rc::gen::arbitrary<bool>()};
    life.latest = *rc::gen::arbitrary<bool>() ? life.at : std::max(life.at, *times);
    for (Cell& cell : state.cells) cell.born = std::max(life.ended, *times);
  }
  if (state == ShardState{}) state.shard_count = 2;  // nobody holds one that says nothing
  return state;
}

std::string any_key() {
  const std::size_t size = *rc::gen::element<std::size_t>(1, 2, 14, 15, 16, 511, 512);
  return *rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
}

TEST(ShardMap, holds_nothing_at_first) {
  const ShardMap map(kKey);
  ShardState state = one_cell(1, 1, 1);
  EXPECT_FALSE(map.read({"likes", 0}, state));
  EXPECT_EQ(state, ShardState{});
  EXPECT_FALSE(map.total({"likes", 0}).exists);
  EXPECT_EQ(map.ledger().size(), 0u);
  EXPECT_EQ(map.ledger().dirty(), 0u);
  EXPECT_FALSE(map.has_open());
}

RC_GTEST_PROP(ShardMap, gives_back_what_was_put, ()) {
  ShardMap map(kKey);
  States model;
  const auto steps = *rc::gen::inRange(1, 30);
  for (int i = 0; i < steps; ++i) {
    const ShardKey name{any_key(), *rc::gen::inRange<ShardIndex>(0, 3)};
    model[name] = some_state();
    put_state(map, name, model[name]);
  }
  RC_ASSERT(map.ledger().size() == model.size());
  for (const auto& [name, expected] : model) {
    ShardState held;
    RC_ASSERT(map.read(name, held));
    RC_ASSERT(held == expected);
    RC_ASSERT((map.total(name).sum == total(expected.cells).sum));
    RC_ASSERT(map.total(name).exists == total(expected.cells).exists);
  }
}

TEST(ShardMap, holds_a_state_of_as_many_cells_as_there_may_be) {
  ShardMap map(kKey);
  ShardState state;
  for (std::uint64_t i = 1; i <= kMaxCells; ++i) {
    state.cells.push_back({ActorId{i}, Commit{i}, -1, Commit{i}, 1});
  }
  const std::string longest(kMaxKey, 'k');
  put_state(map, {longest, kMaxShards - 1}, state);
  ShardState held;
  EXPECT_TRUE(map.read({longest, kMaxShards - 1}, held));
  EXPECT_EQ(held, state);
}

// ---- open ----

TEST(ShardMap, names_each_open_shard_once_in_the_order_of_first_change) {
  ShardMap map(kKey);
  put_state(map, {"b", 0}, one_cell(1, 1, 1));
  put_state(map, {"a", 0}, one_cell(1, 1, 1));
  touch_and_add(map, {"b", 0}, ActorId{1}, 5, Commit{1});
  put_state(map, {"b", 0}, one_cell(1, 1, 7));  // moves the entry
  put_state(map, {"b", 0}, one_cell(1, 1, 8));  // and again
  EXPECT_TRUE(map.has_open());
  EXPECT_EQ(taken(map), (std::vector<ShardKey>{{"b", 0}, {"a", 0}}));

  EXPECT_FALSE(map.has_open());
  EXPECT_EQ(taken(map), std::vector<ShardKey>{});
  touch_and_add(map, {"a", 0}, ActorId{1}, 1, Commit{2});
  EXPECT_EQ(taken(map), (std::vector<ShardKey>{{"a", 0}}));
}

TEST(ShardMap, shows_an_open_entry_as_it_is_now_however_often_it_moved) {
  ShardMap map(kKey);
  for (std::int64_t sum = 1; sum <= 5; ++sum) put_state(map, {"likes", 0}, one_cell(1, 1, sum));
  std::vector<std::int64_t> sums;
  map.take_open(
      [&](const Entry& entry) { sums.push_back(static_cast<std::int64_t>(entry.total().sum)); });
  EXPECT_EQ(sums, std::vector<std::int64_t>{5});
}

TEST(ShardMap, collects_the_flags_of_all_changes_until_the_seal) {
  ShardMap map(kKey);
  put_state(map, {"likes", 0}, one_cell(1, 1, 1), Entry::kLocal);
  put_state(map, {"likes", 0}, one_cell(1, 1, 2), Entry::kWhole);
  std::vector<std::pair<bool, bool>> seen;  // whole, local
  const auto note = [&](const Entry& entry) {
    seen.emplace_back(entry.has(Entry::kWhole), entry.has(Entry::kLocal));
  };
  map.take_open(note);
  put_state(map, {"likes", 0}, one_cell(1, 1, 3), 0);
  map.take_open(note);
  EXPECT_EQ(seen, (std::vector<std::pair<bool, bool>>{{true, true}, {false, false}}));
}

// ---- dirty ----

TEST(ShardMap, is_dirty_from_a_change_to_its_checkpoint) {
  ShardMap map(kKey);
  map.load({"loaded", 0}, one_cell(1, 1, 1));
  EXPECT_EQ(map.ledger().dirty(), 0u) << "what was loaded is on disk";
  EXPECT_FALSE(map.has_open());

  put_state(map, {"new", 0}, one_cell(1, 2, 1));
  touch_and_add(map, {"loaded", 0}, ActorId{1}, 1, Commit{2});
  touch_and_add(map, {"loaded", 0}, ActorId{1}, 1, Commit{2});
  EXPECT_EQ(map.ledger().dirty(), 2u);
  (void)taken(map);
  EXPECT_EQ(map.ledger().dirty(), 2u) << "a seal is not a checkpoint";

  checkpoint_all(map);
  EXPECT_EQ(map.ledger().dirty(), 0u);
  put_state(map, {"new", 0}, one_cell(1, 3, 2));
  EXPECT_EQ(map.ledger().dirty(), 1u);
}

TEST(ShardMap, collects_dirty_entries_in_the_order_of_their_stored_keys) {
  ShardMap map(kKey);
  std::map<Partition, std::vector<std::string>> expected;
  for (int i = 0; i < 20000; ++i) {
    const ShardKey name{"k" + std::to_string(i), static_cast<ShardIndex>(i % 3)};
    put_state(map, name, one_cell(1, 1, i));
    expected[map.place(name).partition()].push_back(stored::shard(map.place(name), name));
  }
  std::vector<Entry*> dirty;
  for (auto& [partition, keys] : expected) {
    std::sort(keys.begin(), keys.end());
    map.collect_dirty(partition, std::nullopt, dirty);
    std::vector<std::string> collected;
    for (const Entry* entry : dirty) {
      collected.push_back(stored::shard(map.place(entry->ref()), entry->ref()));
    }
    ASSERT_EQ(collected, keys);
  }
}

TEST(ShardMap, collects_a_leaf_by_key_and_index) {
  ShardMap map(kKey);
  std::map<std::pair<Partition, std::uint8_t>, std::vector<ShardKey>> expected;
  for (int i = 0; i < 3000; ++i) {
    const ShardKey name{"k" + std::to_string(i), 0};
    put_state(map, name, one_cell(1, 1, i));
    const Placement placement = map.place(name);
    expected[{placement.partition(), placement.leaf()}].push_back(name);
  }
  std::vector<const Entry*> entries;
  for (auto& [where, names] : expected) {
    std::sort(names.begin(), names.end());
    map.index().collect_leaf(where.first, where.second, entries);
    std::vector<ShardKey> collected;
    for (const Entry* entry : entries) {
      collected.push_back({std::string(entry->ref().key), entry->ref().shard});
    }
    ASSERT_EQ(collected, names);
  }
}

TEST(ShardMap, forgets_a_dropped_partition_and_no_other) {
  ShardMap map(kKey);
  States kept;
  const Partition gone = map.place({"k0", 0}).partition();
  for (int i = 0; i < 20000; ++i) {
    const ShardKey name{"k" + std::to_string(i), 0};
    put_state(map, name, one_cell(1, 1, i));
    if (map.place(name).partition() != gone) kept[name] = one_cell(1, 1, i);
  }
  (void)taken(map);
  checkpoint_all(map);
  put_state(map, {"k0", 0}, one_cell(1, 2, 1));
  (void)taken(map);
  map.drop(gone);

  EXPECT_EQ(map.ledger().size(), kept.size());
  EXPECT_EQ(map.ledger().size(gone), 0u);
  EXPECT_EQ(map.ledger().dirty(), 0u);
  EXPECT_EQ(map.ledger().digest(gone), Hash128{});
  ShardState held;
  EXPECT_FALSE(map.read({"k0", 0}, held));
  for (const auto& [name, state] : kept) {
    ASSERT_TRUE(map.read(name, held)) << name.key;
    ASSERT_EQ(held, state);
  }
}

// ---- counters ----

TEST(ShardMap, counts_the_counters_that_exist_by_their_first_shard) {
  ShardMap map(kKey);
  const Partition partition = map.place({"likes", 0}).partition();
  const ShardState cleared{.cells = {{ActorId{1}, Commit{1}, 5, Commit{1}, 5}}};
  put_state(map, {"likes", 0}, cleared);
  EXPECT_EQ(map.ledger().counters(partition), 0u) << "counts nothing since its clear";
  touch_and_add(map, {"likes", 0}, ActorId{1}, 1, Commit{2});
  EXPECT_EQ(map.ledger().counters(partition), 1u) << "counts again";
  touch_and_add(map, {"likes", 0}, ActorId{1}, 1, Commit{3});
  put_state(map, {"likes", 0}, one_cell(1, 4, 3));
  EXPECT_EQ(map.ledger().counters(partition), 1u) << "exists all the while";
  put_state(map, {"likes", 0}, cleared);
  EXPECT_EQ(map.ledger().counters(partition), 0u);

  ShardState spread = cleared;
  spread.shard_count = 2;
  put_state(map, {"likes", 0}, spread);
  EXPECT_EQ(map.ledger().counters(partition), 1u) << "its other shards may count";
  touch_and_add(map, {"likes", 0}, ActorId{1}, 1, Commit{2});
  EXPECT_EQ(map.ledger().counters(partition), 1u);

  const ShardKey second{"likes", 1};
  put_state(map, second, one_cell(1, 1, 1));
  EXPECT_EQ(map.ledger().counters(map.place(second).partition()),
            map.place(second).partition() == partition ? 1u : 0u)
      << "is told by the first";
  map.take_open([](const Entry&) {});
  map.drop(partition);
  EXPECT_EQ(map.ledger().counters(partition), 0u);
  map.load({"likes", 0}, one_cell(1, 1, 1));
  EXPECT_EQ(map.ledger().counters(partition), 1u);
}

// ---- digest ----

HashKey digest_key() { return HashKey{hash64(kKey, "digest")}; }

// What it keeps between two questions must not outlive a change.
void expect_digests(const ShardMap& map, const std::vector<ShardKey>& names, const States& model) {
  std::map<Partition, Digest::Leaves> leaves;
  std::map<Partition, Hash128> sums;
  for (const auto& [name, state] : model) {
    const Placement placement = map.place(name);
    const Hash128 hash = hash_state(digest_key(), name, state);
    leaves[placement.partition()][placement.leaf()] += hash;
    sums[placement.partition()] += hash;
  }
  for (const ShardKey& name : names) {
    const Partition partition = map.place(name).partition();
    RC_ASSERT(map.ledger().digest(partition) == sums[partition]);
    RC_ASSERT(map.ledger().leaves(partition) == leaves[partition]);
  }
}

RC_GTEST_PROP(Digest, equals_the_one_recomputed_from_scratch_after_each_change, ()) {
  ShardMap map(kKey);
  States model;
  std::vector<ShardKey> names;  // few, so that they share no partition only by chance
  for (int i = 0; i < 6; ++i) names.push_back({"k" + std::to_string(i), 0});
  const auto steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const ShardKey& name = *rc::gen::elementOf(names);
    const Placement placement = map.place(name);
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        if (model.contains(name)) break;
        model[name] = some_state();
        map.load(name, model[name]);
        break;
      case 1:
      case 2:
        model[name] = some_state();
        put_state(map, name, model[name]);
        break;
      case 3: {
        if (!model.contains(name) || model[name].cells.empty()) break;
        Cell& own = model[name].cells[0];
        own.commit = std::max(own.commit, Commit{static_cast<std::uint64_t>(i)});  // never back
        touch_and_add(map, name, own.actor, 0, own.commit);
        break;
      }
      case 4: {
        map.take_open([](const Entry&) {});
        std::vector<Entry*> dirty;
        map.collect_dirty(placement.partition(), std::nullopt, dirty);
        for (Entry* entry : dirty) map.mark_clean(placement.partition(), entry, Commit{1});
        break;
      }
      case 5:
        map.take_open([](const Entry&) {});
        if (*rc::gen::inRange(0, 4) != 0) break;
        map.drop(placement.partition());
        std::erase_if(model, [&](const auto& row) {
          return map.place(row.first).partition() == placement.partition();
        });
        break;
    }
    expect_digests(map, names, model);
  }
}

TEST(Digest, sees_each_part_of_a_state) {
  const Cell cell{ActorId{1}, Commit{2}, 3, Commit{4}, 5};
  const ShardState base{.cells = {cell}, .shard_count = 3, .usable_shards = 2};
  std::vector<ShardState> others(7, base);
  others[0].cells[0].actor = ActorId{9};
  others[1].cells[0].commit = Commit{9};
  others[2].cells[0].sum = 9;
  others[3].cells[0].cleared_commit = Commit{9};
  others[4].cells[0].cleared_sum = 9;
  others[5].shard_count = 9;
  others[6].usable_shards = 1;
  const Hash128 hash = hash_state(kKey, {"likes", 1}, base);
  for (const ShardState& other : others) EXPECT_NE(hash_state(kKey, {"likes", 1}, other), hash);
  EXPECT_NE(hash_state(kKey, {"likes", 2}, base), hash);
  EXPECT_NE(hash_state(kKey, {"like", 1}, base), hash);
  EXPECT_NE(hash_state(HashKey{1}, {"likes", 1}, base), hash) << "nobody can aim without the key";
}

// So many that the leaves are kept from some point on, whatever comes before and after,
// and whichever way it is passed.
TEST(Digest, is_the_same_of_few_and_of_many) {
  constexpr Partition kCrowded{0};
  const ShardMap any(kKey);
  std::vector<ShardKey> names;
  for (int i = 0; names.size() < DigestLedger::kFew + 50; ++i) {
    const ShardKey name{"k" + std::to_string(i), 0};
    if (any.place(name).partition() == kCrowded) names.push_back(name);
  }
  for (const bool loads : {false, true}) {
    ShardMap map(kKey);
    Digest::Leaves leaves{};
    Hash128 sum;
    for (std::size_t n = 0; n < names.size(); ++n) {
      ShardState state = one_cell(1, 1, static_cast<std::int64_t>(n));
      if (loads == (n % 7 != 0)) {
        map.load(names[n], state);
      } else {
        put_state(map, names[n], state);
      }
      if (n % 100 == 0) checkpoint_all(map);
      if (n % 5 == 0) {
        touch_and_add(map, names[n], ActorId{1}, 1, Commit{2});
        state = one_cell(1, 2, static_cast<std::int64_t>(n) + 1);
      }
      const Hash128 hash = hash_state(digest_key(), names[n], state);
      leaves[map.place(names[n]).leaf()] += hash;
      sum += hash;
      if (n % 50 != 0 && n + 5 < DigestLedger::kFew) continue;
      ASSERT_EQ(map.ledger().digest(kCrowded), sum) << "of " << n;
      ASSERT_EQ(map.ledger().leaves(kCrowded), leaves) << "of " << n;
    }
    checkpoint_all(map);
    EXPECT_EQ(map.ledger().digest(kCrowded), sum);
    EXPECT_EQ(map.ledger().leaves(kCrowded), leaves);
  }
}

// ---- memory ----

// The memory for each of many counters whose keys have 14 bytes.
std::size_t bytes_each(const ShardState& state) {
  ShardMap map(kKey);
  constexpr std::size_t kCounters = 200000;
  for (std::size_t i = 0; i < kCounters; ++i) {
    put_state(map, {"likes:" + std::to_string(10000000 + i), 0}, state);
  }
  map.take_open([](const Entry&) {});
  checkpoint_all(map);
  return map.bytes() / kCounters;
}

TEST(ShardMap, takes_at_most_54_bytes_per_counter_of_one_cell) {
  EXPECT_LE(bytes_each(one_cell(1, 1, kMax48)), 54u);
}

TEST(ShardMap, takes_at_most_88_bytes_per_counter_of_three_cells) {
  ShardState state = one_cell(1, kNarrowCommit, kMin48);
  for (const std::uint64_t actor : {2u, 3u}) {
    state.cells.push_back({ActorId{actor}, Commit{1}, 1, {}, 0});
  }
  EXPECT_LE(bytes_each(state), 88u);
}

}  // namespace
}  // namespace quipu::test
