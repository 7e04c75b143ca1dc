// Whatever a state holds, its entry holds the same, in whichever form.
#include "storage/entry.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "protocol/random.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

// Around each width that a number may have.
constexpr std::array kSums{std::int64_t{0},
                           std::int64_t{-1},
                           (std::int64_t{1} << 39) - 1,
                           std::int64_t{1} << 39,
                           -(std::int64_t{1} << 39),
                           -(std::int64_t{1} << 39) - 1,
                           (std::int64_t{1} << 47) - 1,
                           std::int64_t{1} << 47,
                           kMax,
                           kMin};
constexpr std::array<std::uint64_t, 6> kCommits{1,
                                                (std::uint64_t{1} << 40) - 1,
                                                std::uint64_t{1} << 40,
                                                (std::uint64_t{1} << 48) - 1,
                                                std::uint64_t{1} << 48,
                                                ~std::uint64_t{0}};
constexpr std::array<std::size_t, 9> kCells{0, 1, 2, 3, 61, 62, 63, 64, 200};

class PackedEntry : public testing::Test {
 protected:
  Cell some_cell(std::uint64_t actor) {
    Cell cell{ActorId{actor},
              Commit{kCommits[random_.below(plain_ ? 2 : kCommits.size())]},
              kSums[random_.below(plain_ ? 3 : kSums.size())],
              {},
              0};
    if (!plain_ && random_.below(4) == 0) {
      cell.cleared_commit = Commit{kCommits[random_.below(kCommits.size())]};
      cell.cleared_sum = kSums[random_.below(kSums.size())];
    }
    return cell;
  }

  // Most of its numbers need little room.
  ShardState some_state() {
    plain_ = random_.below(3) != 0;
    ShardState state;
    const std::size_t cells = kCells[random_.below(kCells.size())];
    for (std::size_t i = 0; i < cells; ++i)
      state.cells.push_back(some_cell(first_actor_ + 3 * i + random_.below(3)));
    if (random_.below(3) == 0) state.shard_count = state.usable_shards = 5;
    return state;
  }

  void expect_holds(const Entry& entry, const ShardRef& ref, const ShardState& state) {
    ShardState held;
    entry.unpack(actors_, held);
    EXPECT_EQ(entry.ref(), ref);
    EXPECT_EQ(held, state);
    EXPECT_EQ(entry.total().sum, total(state.cells).sum);
    EXPECT_EQ(entry.is_bottom(), state.cells.empty() && state.shard_count == 1);
  }

  // States one after the other, in the entry's place or, if it has no room, in another.
  void live(const ShardRef& ref) {
    const Placement placement({}, ref);
    Entry* entry = Entry::create(slab_, actors_, placement, ref, ShardState{});
    for (int i = 0; i < 50; ++i) {
      const ShardState state = some_state();
      if (!entry->rewrite(actors_, state)) {
        entry->destroy(slab_);
        entry = Entry::create(slab_, actors_, placement, ref, state);
        EXPECT_TRUE(entry->rewrite(actors_, state));
      }
      expect_holds(*entry, ref, state);
    }
    entry->destroy(slab_);
  }

  Random random_{1};
  Slab slab_;
  ActorNames actors_;
  std::uint64_t first_actor_ = 1;
  bool plain_ = false;
};

TEST_F(PackedEntry, holds_what_it_was_given) {
  for (int i = 0; i < 100; ++i) {
    const std::string key(1 + random_.below(kMaxKey), 'k');
    live({key, static_cast<ShardIndex>(random_.below(2) * random_.below(kMaxShards))});
  }
  EXPECT_EQ(slab_.used(), 0U);
}

// Then there is no small cell any more; what is small already, stays so until it changes.
TEST_F(PackedEntry, holds_more_actors_than_small_cells_can_name) {
  const ShardRef ref{"likes", 0};
  const Placement placement({}, ref);
  ShardState state;
  state.cells.push_back({ActorId{1}, Commit{1}, 7, {}, 0});
  Entry* const before = Entry::create(slab_, actors_, placement, ref, state);
  EXPECT_EQ(before->size(), Slab::rounded(4 + 5 + 12));
  for (std::uint64_t actor = 2; actor <= 65'535; ++actor) (void)actors_.intern(ActorId{actor});
  expect_holds(*Entry::create(slab_, actors_, placement, ref, state), ref, state);
  first_actor_ = 65'000;
  for (int i = 0; i < 20; ++i) live(ref);
  EXPECT_GT(actors_.size(), 65'536U);
  expect_holds(*before, ref, state);
  EXPECT_FALSE(before->rewrite(actors_, state));
  EXPECT_EQ(Entry::create(slab_, actors_, placement, ref, state)->size(),
            Slab::rounded(4 + 5 + 16));
}

TEST_F(PackedEntry, changes_a_cell_in_place_while_it_has_room) {
  const ShardRef ref{"likes", 0};
  const Placement placement({}, ref);
  ShardState state;
  for (std::uint64_t actor = 1; actor <= 3; ++actor)
    state.cells.push_back({ActorId{actor}, Commit{actor}, 7, {}, 0});
  Entry* const entry = Entry::create(slab_, actors_, placement, ref, state);
  Entry::CellRef cell = entry->find(actors_.intern(ActorId{2}));
  ASSERT_TRUE(cell);
  EXPECT_FALSE(entry->find(actors_.intern(ActorId{4})));
  for (const std::int64_t sum : kSums) {
    const bool small = sum >= -(std::int64_t{1} << 39) && sum < std::int64_t{1} << 39;
    ASSERT_EQ(cell.holds(Commit{9}, sum), small) << sum;
    EXPECT_FALSE(cell.holds(Commit{std::uint64_t{1} << 40}, sum));
    if (!small) continue;
    cell.set(Commit{(std::uint64_t{1} << 40) - 1}, sum);
    state.cells[1].commit = Commit{(std::uint64_t{1} << 40) - 1};
    state.cells[1].sum = sum;
    expect_holds(*entry, ref, state);
  }
}

}  // namespace
}  // namespace quipu::test
