// What one add costs without network and disk: memory, token, record.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "storage/executor.h"

namespace quipu {
namespace {

constexpr std::size_t kBatch = 64;  // what a pipelined connection brings at once

Executor fresh_executor() {
  Meta meta;
  meta.store = StoreId{1};
  return Executor(std::move(meta), {.placement = HashKey{1}, .tokens = {}, .checkpoint = {}},
                  Random(1));
}

std::vector<std::string> make_keys(std::size_t count) {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) keys.push_back("counter:" + std::to_string(i));
  return keys;
}

void add_batch(Executor& executor, const std::vector<std::string>& keys, Random& random) {
  std::vector<Change> changes;
  changes.reserve(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) {
    changes.push_back({.ref = {keys[random.below(keys.size())], 0}, .amount = 1, .token = {}});
  }
  executor.map().for_each_fetched(
      kBatch, [&](std::size_t i) { return changes[i].ref; },
      [&](std::size_t i, const Placement& placement) {
        benchmark::DoNotOptimize(executor.apply(changes[i], placement));
      });
}

// Arguments: counters; batches per record.
void add_and_seal(benchmark::State& state) {
  const std::vector<std::string> keys = make_keys(static_cast<std::size_t>(state.range(0)));
  Executor executor = fresh_executor();
  Random random(2);
  std::int64_t batches = 0;
  for (auto _ : state) {
    add_batch(executor, keys, random);
    if (++batches % state.range(1) == 0) {
      executor.seal();
      benchmark::DoNotOptimize(executor.take_sealed());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(add_and_seal)->ArgNames({"counters", "batches"})->Args({1, 16})->Args({1'000'000, 16});

void read_total(benchmark::State& state) {
  const std::vector<std::string> keys = make_keys(static_cast<std::size_t>(state.range(0)));
  Executor executor = fresh_executor();
  Random random(2);
  for (const std::string& key : keys) {
    const Change change{.ref = {key, 0}, .amount = 1, .token = {}};
    executor.apply(change, executor.map().place(change.ref));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(executor.map().total({keys[random.below(keys.size())], 0}));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_per_counter"] =
      static_cast<double>(executor.map().bytes()) / static_cast<double>(keys.size());
}
BENCHMARK(read_total)->ArgName("counters")->Arg(1)->Arg(1'000'000);

}  // namespace
}  // namespace quipu
