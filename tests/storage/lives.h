// lives.h: a store's disk, which outlives the executors that start on it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/memory_store.h"
#include "storage/recovery.h"

namespace quipu::test {

inline constexpr StoreOwner kOwner{ClusterId{11}, NodeId{22}};
inline constexpr ExecutorOptions kTiny{
    .placement = {},
    .tokens = {.window = 16, .sessions = 100},
    .checkpoint = {.journal_bytes = 400, .slice_states = 3, .cut_records = 2}};

inline MemoryDisk new_disk(std::uint64_t seed = 1) {
  MemoryDisk disk;
  MemoryStore store(disk);
  Random random(seed);
  Meta meta = new_meta(kOwner, NewStore::unmarked, random);
  meta.pins.founded = true;
  meta.pins.founding = {{meta.node, meta.store, 1}};
  EXPECT_TRUE(initialize(store, meta).ok());
  return disk;
}

inline Result<std::unique_ptr<Executor>> start(MemoryDisk& disk,
                                               const ExecutorOptions& options = {},
                                               std::uint64_t seed = 7) {
  MemoryStore store(disk);
  Random random(seed);
  return recover(store, kOwner, options, random);
}

inline void write(MemoryDisk& disk, const std::vector<Sealed>& sealed) {
  MemoryStore store(disk);
  for (const Sealed& one : sealed) ASSERT_TRUE(store.write(one.batch).ok());
}

inline void confirm(Executor& executor) {
  for (std::uint16_t p = 0; p < kPartitions; ++p) executor.set_confirmed(Partition{p}, true);
}

}  // namespace quipu::test
