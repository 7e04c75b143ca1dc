// executors.h: makes an executor in one line, and shows its content as plain values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "protocol/state_codec.h"
#include "storage/executor.h"
#include "storage/stored_keys.h"
#include "tests/storage/journal_names.h"

namespace quipu::test {

inline constexpr HashKey kPlacement{0x5eed};

// Like a new store's. `seed` decides its actors.
inline Executor fresh_executor(std::uint64_t seed, ExecutorOptions options = {}) {
  options.placement = kPlacement;
  Meta meta;
  meta.store = StoreId{seed};
  return Executor(std::move(meta), options, Random(seed));
}

inline Applied apply(Executor& executor, const Change& change) {
  return executor.apply(change, executor.map().place(change.ref));
}

inline Applied add(Executor& executor, ShardRef ref, std::int64_t amount, Token token = {}) {
  return apply(executor, {.kind = OpKind::add, .ref = ref, .amount = amount, .token = token});
}

inline Applied reset(Executor& executor, ShardRef ref, Token token = {}) {
  return apply(executor, {.kind = OpKind::reset, .ref = ref, .amount = 0, .token = token});
}

inline ShardState state(const Executor& executor, ShardRef ref) {
  ShardState held;
  (void)executor.map().read(ref, held);
  return held;
}

// How many alarms that raises.
inline std::uint64_t conflicts(Executor& executor, const Delta& delta) {
  const std::uint64_t before = executor.conflicts();
  executor.merge(delta);
  return executor.conflicts() - before;
}

// Nothing if it left int64.
inline std::optional<std::int64_t> value(const Executor& executor, ShardRef ref) {
  return narrow(executor.map().total(ref).sum);
}

inline bool exists(const Executor& executor, ShardRef ref) {
  return executor.map().total(ref).exists;
}

// Closes the open record. Returns everything sealed since the last time.
inline std::vector<Sealed> seal(Executor& executor) {
  executor.seal();
  return executor.take_sealed();
}

inline const std::string* find_put(const Batch& batch, const std::string& key) {
  for (const Batch::Put& put : batch.puts) {
    if (put.key == key) return &put.value;
  }
  return nullptr;
}

inline bool deletes(const Batch& batch, const std::string& key) {
  return std::find(batch.deletes.begin(), batch.deletes.end(), key) != batch.deletes.end();
}

// `names`: those of the records before it.
inline Record record_of(const Sealed& sealed, JournalNames& names) {
  const std::string key = stored::record(sealed.commit);
  const std::string* value = find_put(sealed.batch, key);
  if (value == nullptr) throw std::runtime_error("a sealed batch without its record");
  Result<Record> record = decode_record(key, *value);
  if (!record.ok()) throw std::runtime_error(record.status().message());
  if (!names.resolve(*record)) throw std::runtime_error("an alias that was never given");
  return std::move(*record);
}
// A record without aliases.
inline Record record_of(const Sealed& sealed) {
  JournalNames names;
  return record_of(sealed, names);
}

// The delta that a peer gets for these shards. REQUIRES: nothing is open.
inline Delta tell(const Executor& executor, const std::vector<ShardKey>& shards) {
  Delta delta(executor.sealed());
  for (const ShardKey& shard : shards) delta.push(shard, state(executor, shard));
  return delta;
}

inline Partition partition_of(const Executor& executor, ShardRef ref) {
  return executor.map().place(ref).partition();
}

// The key count of a partition, by a walk over everything in it.
inline std::size_t counters_walked(const ShardMap& map, Partition partition) {
  std::size_t counters = 0;
  ShardState state;
  map.index().for_each(partition, [&](const Entry& entry) {
    map.index().unpack(entry, state);
    const bool spread = state.shard_count != 1 || state.usable_shards != 1;
    if (entry.ref().shard == 0 && (spread || total(state.cells).exists)) ++counters;
  });
  return counters;
}

inline ShardState cell_of(std::uint64_t actor, std::uint64_t commit, std::int64_t sum) {
  return {.cells = {{ActorId{actor}, Commit{commit}, sum, {}, 0}}};
}

// Another node's state of one shard.
inline Delta said(ShardRef ref, const ShardState& state) {
  Delta delta;
  delta.push(ref, state);
  return delta;
}

inline std::vector<Cell> cells_of(const Record& record) {
  std::vector<Cell> cells;
  record.delta.for_each([&](const DeltaEntry& entry) {
    cells.insert(cells.end(), entry.cells.begin(), entry.cells.end());
  });
  return cells;
}

}  // namespace quipu::test
