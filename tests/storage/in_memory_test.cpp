// How many states of each kind are in memory, and how large they are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <ostream>
#include <string>

#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/frequency.h"
#include "storage/kinds/maximum.h"
#include "storage/kinds/top.h"
#include "tests/storage/executors.h"
#include "tests/storage/lives.h"
#include "tests/storage/load_all.h"
#include "tests/storage/today.h"

namespace quipu {

// Found by gtest and rapidcheck by its name.
inline std::ostream& operator<<(std::ostream& out, const StatesInMemory& held) {
  return out << held.states << " states of " << held.bytes << " bytes";
}

}  // namespace quipu

namespace quipu::test {
namespace {

using namespace std::chrono_literals;

// By a walk over all entries.
std::map<Kind, StatesInMemory> walked(const Executor& executor) {
  std::map<Kind, StatesInMemory> all;
  const EntryIndex& index = executor.map().index();
  for (const Partition partition : index.occupied()) {
    index.for_each(partition, [&](const Entry& entry) {
      if (!entry.is_bottom()) all[kind_of(entry.ref().shard)] += {1, entry.size()};
    });
  }
  return all;
}

std::string words_of(Kind kind, int number, int count) {
  std::string words;
  if (kind == Kind::maximum) return maximum::words_of(number);
  std::vector<std::uint64_t> hashes;
  std::vector<frequency::Increment> items;
  std::vector<std::string> names;
  std::vector<top::Increment> named;
  for (int i = 0; i < count; ++i) {
    hashes.push_back(std::uint64_t(number + i) * 0x9e3779b97f4a7c15);
    items.push_back({hashes.back(), 1});
    names.push_back("item" + std::to_string(number + i));
  }
  for (const std::string& name : names) named.push_back({name, 1});
  if (kind == Kind::distinct) return distinct::words_of(hashes);
  return kind == Kind::frequency ? frequency::words_to_add(items) : top::words_to_add(named);
}

// One node's counters, and another node that tells it of its own.
class Counters {
 public:
  Counters() : executor_(std::move(*start(disk_, options()))) {
    for (Executor* const one : {executor_.get(), &other_}) {
      one->judge_dates_by(today_);
      confirm(*one);
    }
  }

  // Kind and key are one: a counter of each kind, and two of the sum.
  void step(int what, Kind kind, int number) {
    const std::string name = std::string(name_of(kind)) + std::to_string(number % 2);
    const ShardRef ref{name, shard_of(kind)};
    switch (what) {
      default:
        return change(*executor_, ref, number);
      case 4:
      case 5:
        change(other_, ref, number);
        (void)seal(other_);
        return merge(ref, state(other_, ref));
      case 6:
        if (kind == Kind::sum) merge(ref, {.shard_count = 2, .usable_shards = 2});
        return;
      case 7:
        bring(name);
        reset(*executor_, ref);
        return;
      case 8:
        bring(name);
        (void)apply(*executor_, {.kind = OpKind::expire,
                                 .ref = ref,
                                 .amount = (today_.wall + 5s).time_since_epoch().count()});
        return;
      case 9:
        return bring(name);
      case 10:
        return write(disk_, seal(*executor_));
      case 11:
        return evict();
      case 12:
        return end(number);
      case 13:
        write(disk_, seal(*executor_));
        executor_ = std::move(*start(disk_, options()));
        executor_->judge_dates_by(today_);
        return confirm(*executor_);
    }
  }

  [[nodiscard]] const Executor& executor() const { return *executor_; }

 private:
  static ExecutorOptions options() {
    ExecutorOptions options = kTiny;
    options.memory = {1'000, {}};
    options.memory.evictable = Partitions::all();
    return options;
  }
  void bring(const std::string& name) {
    MemoryStore store(disk_);
    for (const Kind kind : kKinds) {
      const ShardKey shard{name, shard_of(kind)};
      const ShardMap& map = executor_->map();
      if (map.resident(map.place(shard), shard)) continue;
      executor_->restore(load_all(store, map.placement_key(), {1, {shard}, {}}).value());
    }
  }
  void change(Executor& executor, const ShardRef& ref, int number) {
    if (&executor == executor_.get()) bring(std::string(ref.key));
    if (is_sum(ref.shard)) {
      (void)add(executor, ref, number % 3 == 0 ? kLargeAmount : number);
    } else {
      const std::string words = words_of(kind_of(ref.shard), number, number % 5 == 0 ? 2'000 : 3);
      (void)apply(executor, {.kind = OpKind::apply, .ref = ref, .words = words});
    }
  }
  void merge(const ShardRef& ref, const ShardState& state) {
    bring(std::string(ref.key));
    executor_->merge(said(ref, state));
  }
  void evict() {
    for (int round = 0; round < 4; ++round) write(disk_, seal(*executor_));
    for (int chance = 0; chance < 2; ++chance) {
      for (std::uint16_t p = 0; p < kPartitions; ++p)
        executor_->evict(Partition{p}, executor_->sealed());
    }
  }
  // Time passes, mostly less than it takes to forget what ended.
  void end(int number) {
    write(disk_, seal(*executor_));
    today_.wall += number % 4 == 0 ? Wall::duration(kLifeGrace) + 10s : 6s;
    for (std::uint16_t p = 0; p < kPartitions; ++p) {
      if (executor_->map().due(Partition{p}) > today_.wall) continue;
      const Executor::Settled alone{.offered = true, .room = 100, .heard_until = today_.wall};
      (void)executor_->sweep(Partition{p}, alone);
    }
  }

  static constexpr std::int64_t kLargeAmount = std::int64_t{1} << 45;  // its cell is a wider one
  Today today_;
  MemoryDisk disk_ = new_disk();
  std::unique_ptr<Executor> executor_;
  Executor other_ = fresh_executor(5);
};

RC_GTEST_PROP(InMemory, is_what_a_walk_over_the_entries_finds, ()) {
  Counters counters;
  const auto steps = *rc::gen::inRange(1, 120);
  for (int i = 0; i < steps; ++i) {
    const int what = *rc::gen::inRange(0, 14);
    const Kind kind = *rc::gen::elementOf(kKinds);
    counters.step(what, kind, *rc::gen::inRange(1, 1'000));
    std::map<Kind, StatesInMemory> found = walked(counters.executor());
    for (const Kind one : kKinds)
      RC_ASSERT(counters.executor().map().index().in_memory(one) == found[one]);
  }
}

TEST(InMemory, grows_with_a_body_and_goes_with_its_partition) {
  Executor executor = fresh_executor(1);
  const ShardKey visitors{"visitors", shard_of(Kind::distinct)};
  const auto held = [&] { return executor.map().index().in_memory(Kind::distinct); };
  EXPECT_EQ(held(), StatesInMemory{});
  const auto see = [&](int number, int count) {
    const std::string words = words_of(Kind::distinct, number, count);
    return apply(executor, {.kind = OpKind::apply, .ref = visitors, .words = words}).code;
  };
  ASSERT_EQ(see(1, 1), Code::ok);
  EXPECT_EQ(held().states, 1u);
  EXPECT_LT(held().bytes, 100u);
  ASSERT_EQ(see(2, 20'000), Code::ok);
  EXPECT_EQ(held().states, 1u);
  EXPECT_GE(held().bytes, distinct::dense_size(14));
  (void)seal(executor);
  executor.drop(partition_of(executor, visitors));
  EXPECT_EQ(held(), StatesInMemory{});
}

}  // namespace
}  // namespace quipu::test
