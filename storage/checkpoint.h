// checkpoint.h: moves states from the journal to their own keys, lazily, so that the
// journal can be cut. (LevelDB's memtable alone takes 2 µs a put: too much for the path of
// an add.)
//
//   idle ──journal long enough──▶ slices ──all put──▶ durable? ──▶ cut ──▶ idle
//
// A slice is encoded at a seal and written in the same synced batch as that record, so it
// never holds a sum newer than its commit. When the last slice is durable, the journal
// begins behind the *first* slice's commit, since everything in earlier records has been
// put since. Those records are then deleted, oldest first. One that still exists may use
// aliases from records before it, and is not read again.
//
// Pace: a slice has `slice_states` states, or an eighth of its partition's, and more until
// its bytes are as many as were journaled since the last slice (three times as many while
// so much is dirty that memory is short). So a slice costs about as much as the records
// beside it. A checkpoint puts each state and session once, and meanwhile the journal grows
// by no more than their size at rest. Larger slices fill LevelDB's level 0 faster than it
// is compacted, and then every write waits: putting a million states, 1000 to a seal, takes
// less than a second, and blocked all writes for up to 0.4 s.
//
// Bound: the journal is never longer than `journal_bytes`, twice the size of all states and
// sessions at rest, and the records that are sealed while others are being cut: one for
// each `cut_records` of those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/state.h"
#include "storage/shard_map.h"
#include "storage/store.h"
#include "storage/token_table.h"

namespace quipu {

struct CheckpointLimits {
  std::size_t journal_bytes = std::size_t{256} << 20;  // a checkpoint starts beyond this
  // Added to the size of each record: the time that a start and LevelDB take for any record.
  std::size_t record_bytes = 0;
  std::size_t slice_states = 128;  // per seal at the least, sessions' entries included
  std::size_t cut_records = 1000;  // deletes per seal
};

class Checkpoint {
 public:
  explicit Checkpoint(CheckpointLimits limits) : limits_(limits) {}

  // A record of that size was sealed, or replayed. Bytes are the measure: a name takes eight
  // times the bytes of an alias, and a start takes four times as long for it.
  void wrote(std::size_t bytes) {
    replayed(bytes);
    owed_ += bytes;
  }
  void replayed(std::size_t bytes) { journal_bytes_ += bytes + limits_.record_bytes; }
  [[nodiscard]] bool running() const { return phase_ != Phase::idle; }
  // By all slices so far.
  [[nodiscard]] std::uint64_t states_put() const { return states_put_; }
  // How many were finished: their states are put, and the journal before them is cut.
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  // The size of the journal, as it is compared with the limit.
  [[nodiscard]] std::size_t journal_bytes() const { return journal_bytes_; }
  // How to journal an entry if the record that gave its alias remains after the next cut, which
  // means that it is behind the record with which a checkpoint last began.
  [[nodiscard]] Entry::Journaled alias() const { return alias_; }

  // A start found that an unfinished cut had left records from `oldest` on.
  void resume_cut(Commit oldest);

  // Called at a seal, when `batch` holds the record: adds this checkpoint's part to the batch.
  // True if it moved `journal_first`, so that the caller puts its meta in the same batch.
  bool step(Commit sealing, ShardMap& map, TokenTable& tokens, Batch& batch, Commit& journal_first);

 private:
  enum class Phase { idle, slices, cut };

  void slice(std::size_t owed, Commit sealing, ShardMap& map, TokenTable& tokens, Batch& batch);
  bool cut(Batch& batch, Commit& journal_first);

  CheckpointLimits limits_;
  Phase phase_ = Phase::idle;
  Entry::Journaled alias_ = Entry::Journaled::alias_even;
  std::size_t journal_bytes_ = 0;
  std::size_t owed_ = 0;          // of them, since the last slice
  Commit first_slice_{};          // records up to here may be deleted at the end
  Commit cut_{};                  // the oldest record left, during the cut
  std::size_t partition_ = 0;     // the next partition to put
  std::optional<ShardKey> last_;  // the last key put of it; later changes before it wait
  std::vector<Entry*> entries_;
  std::uint64_t states_put_ = 0;
  std::uint64_t finished_ = 0;
};

}  // namespace quipu
