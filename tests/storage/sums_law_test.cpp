// Sums at the ends of every width that a number may be written in: they come back from memory,
// from a record, from a frame, from rest, and through restarts.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "protocol/message_codec.h"
#include "storage/entry.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/samples.h"

namespace quipu::test {
namespace {

// 2^k or 2^k ± 1 of either sign, for k from 0 to 63, as far as it is a number of 64 bits.
std::int64_t edge_sum(std::uint8_t k, std::uint8_t side, bool negative) {
  const Wide edge = (Wide{1} << (k % 64)) + side % 3 - 1;
  return narrow(negative ? -edge : edge).value_or(negative ? kMin : kMax);
}

// Evenly: a generator of rapidcheck's begins with small numbers.
template <class Drawn>
rc::Gen<Drawn> evenly() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<Drawn>());
}

rc::Gen<std::int64_t> edge_sums() {
  return rc::gen::map(evenly<std::tuple<std::uint8_t, std::uint8_t, bool>>(),
                      [](const auto& drawn) { return std::apply(edge_sum, drawn); });
}

// The same without a sign, of so many bits at most.
template <class Number>
rc::Gen<Number> edge_numbers(int bits) {
  return rc::gen::map(evenly<std::pair<std::uint8_t, std::uint8_t>>(), [bits](const auto& drawn) {
    const Wide most = (Wide{1} << bits) - 1;
    const Wide edge = (Wide{1} << (drawn.first % bits)) + drawn.second % 3 - 1;
    return Number{static_cast<std::uint64_t>(std::min(edge, most))};
  });
}

rc::Gen<Cell> edge_cells(std::uint64_t actor) {
  return rc::gen::map(rc::gen::tuple(edge_numbers<Commit>(64), edge_sums(),
                                     edge_numbers<Commit>(64), edge_sums(), rc::gen::inRange(0, 3)),
                      [actor](const auto& drawn) {
                        const auto& [commit, sum, cleared_commit, cleared_sum, cleared] = drawn;
                        if (cleared != 0) return Cell{ActorId{actor}, commit, sum, {}, 0};
                        return Cell{ActorId{actor}, commit, sum, cleared_commit, cleared_sum};
                      });
}

ShardState edge_state() {
  ShardState state;
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i)
    state.cells.push_back(*edge_cells(static_cast<std::uint64_t>(10 + i)));
  return state;
}

// ---- written and read ----

RC_GTEST_PROP(SumsLaw, a_record_holds_each_sum_by_any_alias, ()) {
  Record record{Delta(*edge_numbers<Commit>(64))};
  const auto aliased = *rc::gen::container<std::vector<std::pair<Commit, std::int64_t>>>(
      rc::gen::pair(edge_numbers<Commit>(32), edge_sums()));
  for (const auto& [alias, sum] : aliased)
    record.aliased.push_back({Alias{static_cast<std::uint32_t>(raw(alias))}, sum});
  record.delta.push(kLikes, edge_state());
  const std::string key = stored::record(Commit{7});
  const Result<Record> back = decode_record(key, encode_record(key, record));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->aliased == record.aliased);
  RC_ASSERT(cells_of(*back) == cells_of(record));
}

RC_GTEST_PROP(SumsLaw, a_state_at_rest_and_in_a_frame_holds_each_sum, ()) {
  const ShardState state = edge_state();
  const std::string key = stored::shard(Placement(kPlacement, kLikes), kLikes);
  const Result<ShardState> at_rest = decode_shard_state(key, encode_shard_state(key, state));
  RC_ASSERT(at_rest.ok());
  RC_ASSERT(*at_rest == state);

  // The own cell of a delta, which is of its commit, is written in another way.
  DeltaFrame frame{1, Fence{}, Delta(state.cells[0].commit)};
  frame.delta.push(kLikes, state);
  std::string bytes;
  encode_peer(bytes, frame, ClusterId{1});
  std::vector<std::uint64_t> words((bytes.size() - kFrameHeader) / 8);  // as it must be aligned
  std::memcpy(words.data(), bytes.data() + kFrameHeader, words.size() * 8);
  const auto arrived = decode_peer(FrameType::delta, std::as_bytes(std::span(words)));
  RC_ASSERT(arrived.ok());
  std::get<DeltaFrame>(*arrived).delta.for_each([&](const DeltaEntry& entry) {
    RC_ASSERT(std::vector<Cell>(entry.cells.begin(), entry.cells.end()) == state.cells);
  });
}

// ---- in memory ----

RC_GTEST_PROP(SumsLaw, an_entry_holds_each_sum_and_changes_in_place_if_it_says_so, ()) {
  Slab slab;
  ActorNames actors;
  ShardState state = edge_state();
  Entry* entry = Entry::create(slab, actors, Placement(kPlacement, kLikes), kLikes, state);
  ShardState held;
  for (const Cell& change : *rc::gen::container<std::vector<Cell>>(10, edge_cells(10))) {
    Entry::CellRef cell = entry->find(actors.intern(ActorId{10}));
    RC_ASSERT(bool{cell});
    state.cells[0].commit = change.commit;
    state.cells[0].sum = change.sum;
    if (cell.holds(change.commit, change.sum)) {
      cell.set(change.commit, change.sum);
      RC_ASSERT(cell.commit() == change.commit);
      RC_ASSERT(cell.sum() == change.sum);
    } else if (!entry->rewrite(actors, state)) {
      entry->destroy(slab);
      entry = Entry::create(slab, actors, Placement(kPlacement, kLikes), kLikes, state);
    }
    entry->unpack(actors, held);
    RC_ASSERT(held == state);
    RC_ASSERT((entry->total().sum == total(state.cells).sum));
  }
  entry->destroy(slab);
}

// ---- through a restart ----

// A counter whose sum goes from edge to edge, and is what it should be after each restart.
class EdgeWalk {
 public:
  explicit EdgeWalk(const ExecutorOptions& options) : options_(options) {}

  void go_to(const ShardKey& shard, std::int64_t sum) {
    std::int64_t& held = sums_[shard.shard];
    const auto amount = narrow(Wide{sum} - held);
    if (!amount || add(*executor_, shard, *amount).code != Code::ok) return;
    held = sum;
  }
  void clear(const ShardKey& shard) {
    RC_ASSERT(reset(*executor_, shard).code == Code::ok);
    sums_[shard.shard] = 0;
  }
  void seal() { write(disk_, test::seal(*executor_)); }
  void restart() {
    seal();
    executor_ = std::move(*start(disk_, options_, ++seed_));
  }
  void check() const {
    for (const auto& [shard, sum] : sums_) RC_ASSERT(value(*executor_, {"walk", shard}) == sum);
  }

 private:
  ExecutorOptions options_;
  MemoryDisk disk_ = new_disk();
  std::uint64_t seed_ = 1;
  std::unique_ptr<Executor> executor_ = std::move(*start(disk_, options_, seed_));
  std::map<ShardIndex, std::int64_t> sums_;
};

void walk_along_edges(const ExecutorOptions& options) {
  EdgeWalk walk(options);
  const auto steps =
      *rc::gen::resize(60, rc::gen::container<std::vector<std::pair<std::int64_t, std::uint8_t>>>(
                               rc::gen::pair(edge_sums(), evenly<std::uint8_t>())));
  for (const auto& [sum, drawn] : steps) {
    const ShardKey shard{"walk", static_cast<ShardIndex>(drawn % 3)};
    walk.go_to(shard, sum);
    if (drawn / 3 % 16 == 0) walk.clear(shard);
    if (drawn / 48 % 2 == 0) walk.seal();
    walk.check();
    if (drawn / 96 == 0) {
      walk.restart();
      walk.check();
    }
  }
  walk.restart();
  walk.check();
}

RC_GTEST_PROP(SumsLaw, each_sum_is_replayed_from_records, ()) { walk_along_edges({}); }

RC_GTEST_PROP(SumsLaw, each_sum_comes_back_through_checkpoints, ()) { walk_along_edges(kTiny); }

// All of them, in both directions: a walk seldom stands still on one.
TEST(SumsLawTable, each_edge_is_replayed_by_alias) {
  for (std::uint8_t k = 0; k < 64; ++k) {
    for (std::uint8_t side = 0; side < 3; ++side) {
      for (const bool negative : {false, true}) {
        const std::int64_t sum = edge_sum(k, side, negative);
        MemoryDisk disk = new_disk();
        auto executor = std::move(*start(disk));
        // The first that needs as much room, so that the entry stays where it is.
        const std::int64_t near = sum == 0 ? 1 : sum - (sum > 0 ? 1 : -1);
        ASSERT_EQ(add(*executor, kLikes, near).code, Code::ok);
        write(disk, seal(*executor));
        ASSERT_EQ(add(*executor, kLikes, sum - near).code, Code::ok);
        write(disk, seal(*executor));
        ASSERT_EQ(add(*executor, kLikes, near - sum).code, Code::ok);
        write(disk, seal(*executor));
        ASSERT_EQ(add(*executor, kLikes, sum - near).code, Code::ok);
        write(disk, seal(*executor));
        EXPECT_EQ(value(*executor, kLikes), sum);
        executor = std::move(*start(disk));
        EXPECT_EQ(value(*executor, kLikes), sum);
      }
    }
  }
}

}  // namespace
}  // namespace quipu::test
