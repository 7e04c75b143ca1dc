#include "storage/checkpoint.h"

#include <algorithm>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

void put_state(const ShardMap& map, const Entry& entry, ShardState& state, Batch& batch) {
  map.unpack(entry, state);
  std::string key = stored::shard(map.place(entry.ref()), entry.ref());
  std::string value = encode_shard_state(key, state);
  batch.puts.push_back({std::move(key), std::move(value)});
}

}  // namespace

bool Checkpoint::step(Commit sealing, ShardMap& map, TokenTable& tokens, Batch& batch, Commit& journal_first) {
  if (phase_ == Phase::idle && journal_bytes_ >= limits_.journal_bytes) {
    phase_ = Phase::slices;
    first_slice_ = sealing;
    partition_ = 0;
    journal_bytes_ = 0;
  }
  // The cut stands in a later batch than the last slice; batches become durable
  // in order, each as a whole, so it never shows without them.
  if (phase_ == Phase::cut) return cut(batch, journal_first);
  if (phase_ == Phase::slices) slice(map, tokens, batch);
  return false;
}

void Checkpoint::slice(ShardMap& map, TokenTable& tokens, Batch& batch) {
  std::size_t room = limits_.slice_states;
  ShardState state;
  while (partition_ < kPartitions && room > 0) {
    const Partition partition{static_cast<std::uint16_t>(partition_)};
    map.collect_dirty(partition, entries_);
    const std::size_t count = std::min(room, entries_.size());
    for (std::size_t i = 0; i < count; ++i) {
      put_state(map, *entries_[i], state, batch);
      map.mark_clean(partition, entries_[i]);
    }
    room -= count;
    if (count == entries_.size()) ++partition_;
  }
  if (partition_ == kPartitions && room > 0 && tokens.checkpoint(batch, room)) phase_ = Phase::cut;
}

bool Checkpoint::cut(Batch& batch, Commit& journal_first) {
  const std::uint64_t behind = raw(next(first_slice_)) - raw(journal_first);
  const std::uint64_t count = std::min<std::uint64_t>(behind, limits_.cut_records);
  for (std::uint64_t i = 0; i < count; ++i) {
    batch.deletes.push_back(stored::record(journal_first));
    journal_first = next(journal_first);
  }
  if (journal_first == next(first_slice_)) phase_ = Phase::idle;
  return true;
}

}  // namespace quipu
