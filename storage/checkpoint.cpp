#include "storage/checkpoint.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

constexpr std::size_t kTokenBytes = 16;  // per entry, in a record and at rest
// The most states in one record while memory is too small for the changing ones.
constexpr std::size_t kExcessBytes = std::size_t{4} << 20;
// A state at rest takes up to three times the bytes that mark it dirty in a record.
constexpr std::size_t kFaster = 3;
// Each slice looks through its whole partition: at most this many times.
constexpr std::size_t kCollections = 8;

// Returns its size in bytes.
std::size_t put_state(const ShardMap& map, const Entry& entry, ShardState& state, Batch& batch) {
  map.index().unpack(entry, state);
  std::string key = stored::shard(map.place(entry.ref()), entry.ref());
  std::string value = encode_shard_state(key, state);
  const std::size_t bytes = key.size() + value.size();
  batch.puts.push_back({std::move(key), std::move(value)});
  return bytes;
}

ShardKey name(const Entry& entry) { return {std::string(entry.ref().key), entry.ref().shard}; }

}  // namespace

bool Checkpoint::step(Commit sealing, ShardMap& map, TokenTable& tokens, Batch& batch,
                      Commit& journal_first) {
  QUIPU_CHECK(!map.has_open() && sealing >= journal_first,
              "a step goes with a record that holds all that is in memory", sealing, journal_first);
  if (phase_ == Phase::idle &&
      (journal_bytes_ >= limits_.journal_bytes || map.eviction().dirty_enough())) {
    QUIPU_CHECK(first_slice_ < sealing, "a checkpoint begins behind the one before it",
                first_slice_, sealing);
    phase_ = Phase::slices;
    first_slice_ = sealing;
    alias_ = alias_ == Entry::Journaled::alias_even ? Entry::Journaled::alias_odd
                                                    : Entry::Journaled::alias_even;
    partition_ = 0;
    last_.reset();
    journal_bytes_ = 0;
  }
  if (phase_ == Phase::slices) {
    slice(std::exchange(owed_, 0), sealing, map, tokens, batch);
    return false;
  }
  owed_ = 0;
  // The cut is in a later batch than the last slice. Batches become durable in order, each as a
  // whole, so the cut is never visible without the slices.
  QUIPU_CHECK(phase_ != Phase::cut || first_slice_ < sealing,
              "records are deleted only by a later write than the one that put their states",
              first_slice_, sealing);
  return phase_ == Phase::cut && cut(batch, journal_first);
}

void Checkpoint::slice(std::size_t owed, Commit sealing, ShardMap& map, TokenTable& tokens,
                       Batch& batch) {
  QUIPU_CHECK(phase_ == Phase::slices && partition_ <= kPartitions,
              "slices are put between the beginning of a checkpoint and its cut", phase_,
              partition_);
  std::size_t states = 0, bytes = 0, least = limits_.slice_states;
  if (map.eviction().dirty_enough()) owed *= kFaster;
  const auto goes_on = [&] {
    return states < least || bytes < owed ||
           (bytes < kExcessBytes && map.eviction().dirty_excess() > 0);
  };
  ShardState state;
  while (goes_on()) {
    const std::size_t next = map.ledger().dirty_in().next(partition_);
    if (std::exchange(partition_, next) != next) last_.reset();
    if (next == kPartitions) break;
    const Partition partition{static_cast<std::uint16_t>(partition_)};
    least = std::max(least, map.index().size(partition) / kCollections);
    map.collect_dirty(partition, last_, entries_);
    auto at = entries_.begin();
    for (; at != entries_.end() && goes_on(); ++at, ++states) {
      bytes += put_state(map, **at, state, batch);
      ++states_put_;
      map.mark_clean(partition, *at, sealing);
    }
    if (at == entries_.end()) {
      ++partition_;
      last_.reset();
    } else {
      last_ = name(**(at - 1));
    }
  }
  if (partition_ < kPartitions || !goes_on()) return;
  const std::size_t entries =
      std::max(limits_.slice_states - std::min(limits_.slice_states, states),
               (owed - std::min(owed, bytes)) / kTokenBytes);
  if (tokens.checkpoint(batch, entries)) phase_ = Phase::cut;
}

void Checkpoint::resume_cut(Commit oldest) {
  QUIPU_CHECK(phase_ == Phase::idle, "a cut is resumed at the start", oldest);
  QUIPU_CHECK(oldest != Commit{}, "the oldest record that is left has a number");
  phase_ = Phase::cut;
  cut_ = oldest;
}

bool Checkpoint::cut(Batch& batch, Commit& journal_first) {
  const bool begins = journal_first <= first_slice_;
  QUIPU_CHECK(begins || cut_ < journal_first, "records are cut up to the journal's first", cut_,
              journal_first);
  if (begins) cut_ = std::exchange(journal_first, next(first_slice_));
  for (std::size_t i = 0; i < limits_.cut_records && cut_ < journal_first; ++i) {
    batch.deletes.push_back(stored::record(cut_));
    cut_ = next(cut_);
  }
  QUIPU_CHECK(cut_ <= journal_first, "no record that counts is deleted", cut_, journal_first);
  if (cut_ == journal_first) {
    phase_ = Phase::idle;
    ++finished_;
  }
  return begins;
}

}  // namespace quipu
