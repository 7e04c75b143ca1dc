// checkpoint.h: moves states from the journal to their own keys, lazily, so that
// the journal can be cut. (LevelDB's memtable alone costs 2 µs a put: it must not
// stand on the path of an add.)
//
//   idle ──journal long enough──▶ slices ──all put──▶ durable? ──▶ cut ──▶ idle
//
// A slice is encoded at a seal and written in the same synced batch as that
// record, so it never holds a sum newer than its commit. When the last slice is
// durable, the journal begins behind the *first* slice's commit: all that the records
// up to there hold has been put since. They are then deleted, oldest first. One that
// is still there may use aliases that those before it gave, and is not read again.
//
// Pace: a slice has `slice_states` states, or an eighth of its partition's, and more until
// that is as many bytes as were journaled since the last, or three times as many while so
// much is dirty that memory gets short. So it costs about as much as the records beside it,
// and a checkpoint, which puts each state and session once, lets the journal grow by
// no more than what those take at rest. Larger slices fill LevelDB's level 0 faster than
// it is compacted, and then every write waits: a million states, 1000 to a seal, take
// less than a second, and held up everybody for up to 0.4 s.
//
// Bound: the journal is never longer than `journal_bytes`, twice what all states
// and sessions take at rest, and the records that are sealed while others are being
// cut: of those, a `cut_records`-th as many.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "protocol/state.h"
#include "storage/shard_map.h"
#include "storage/store.h"
#include "storage/token_table.h"

namespace quipu {

struct CheckpointLimits {
  std::size_t journal_bytes = std::size_t{256} << 20;  // start beyond this
  // What a record counts for besides its own: a start, and LevelDB, take as long for it.
  std::size_t record_bytes = 0;
  std::size_t slice_states = 128;  // per seal at the least, sessions' entries included
  std::size_t cut_records = 1000;  // deletes per seal
};

class Checkpoint {
 public:
  explicit Checkpoint(CheckpointLimits limits) : limits_(limits) {}

  // A record of that size was sealed, or replayed. Its bytes are the measure: a name takes
  // eight times those of an alias, and a start four times as long.
  void wrote(std::size_t bytes) {
    replayed(bytes);
    owed_ += bytes;
  }
  void replayed(std::size_t bytes) { journal_bytes_ += bytes + limits_.record_bytes; }
  [[nodiscard]] bool running() const { return phase_ != Phase::idle; }
  // How an entry is journaled whose alias was given in a record that the next cut leaves:
  // one from behind the record with which a checkpoint last began.
  [[nodiscard]] Entry::Journaled alias() const { return alias_; }

  // A start found records from `oldest` on that a cut had left.
  void resume_cut(Commit oldest);

  // At a seal, when `batch` holds the record: adds what is to go with it. True if it
  // moved `journal_first` on, so that the caller puts its meta in the same batch.
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
  Commit first_slice_{};          // records up to here may go at the end
  Commit cut_{};                  // the oldest that is left, while they go
  std::size_t partition_ = 0;     // the next to be put
  std::optional<ShardKey> last_;  // that was put of it; what changes again before that waits
  std::vector<Entry*> entries_;
};

}  // namespace quipu
