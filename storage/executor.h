// executor.h: applies changes to the shards that this node holds, and numbers
// the records that make them durable.
//
//   apply, reset, merge ──▶ memory (open) ──seal──▶ record ──store──▶ durable
//
// Nothing here waits: each change answers at once with the commit that will hold
// it, and whoever must not speak before it is durable waits for that commit.
//
// Invariants
//   1. Only the own actor's (commit, sum) changes here; merge does the rest.
//   2. A cell never changes under a number once that number was sealed, nor
//      under one that a reset has named.
//   3. A change and its token are in one record; so are a cell and the sighting
//      of the store that wrote it.
//   4. Commits are dense: each seal takes the next number.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/client_messages.h"
#include "protocol/partitions.h"
#include "protocol/random.h"
#include "storage/checkpoint.h"
#include "storage/journal_aliases.h"
#include "storage/lineage.h"
#include "storage/loader.h"
#include "storage/shard_list.h"
#include "storage/shard_map.h"
#include "storage/store.h"
#include "storage/token_table.h"

namespace quipu {

struct ExecutorOptions {
  HashKey placement{};
  TokenLimits tokens;
  CheckpointLimits checkpoint;
  MemoryLimit memory{};
  bool has_peers = true;  // who must be told: else Sealed::local stays empty
};

// An add or a reset of one shard. Borrows; with or without a token.
struct Change {
  OpKind kind = OpKind::add;
  ShardRef ref;
  std::int64_t amount = 0;
  Token token;
  // Not ok: a new change is refused with it, while a retry is still answered.
  Code refuse = Code::ok;
};

// Durable when `commit` is. Not ok: nothing was changed, now.
struct Applied {
  Code code = Code::ok;
  Commit commit{};
  ShardIndex usable = 0;  // of shard 0: how many shards adds may use
  // Of a new add: what the counter counts now, where this shard is all of it.
  std::optional<std::int64_t> total{};
};

struct Sealed {
  Commit commit{};
  Batch batch;      // for the store, in the order of commits
  ShardList local;  // what this node itself changed: the peers must be told
};

class Executor {
 public:
  Executor(Meta meta, ExecutorOptions options, Random random);

  // ---- changes ----
  // `placement`: of the change's shard. Many are faster if their memory is fetched ahead
  // (ShardMap::for_each_fetched).
  Applied apply(const Change& change, const Placement& placement);
  // An add without a token, which nobody refuses. `usable` may be left out.
  Applied add(const ShardRef& ref, std::int64_t amount, const Placement& placement);
  // Takes over what another node knows. Returns the partitions, ascending, of the
  // states that would have had more than kMaxCells: of these nothing was taken, so
  // this copy must not count for them.
  std::vector<Partition> merge(const Delta& delta);
  // How many states were refused so, or conflicted with what was held: an alarm, as
  // there are none in a sound cluster.
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }
  // A new session; usable once the open commit is durable.
  [[nodiscard]] Serial issue_session() { return tokens_.issue(); }
  // What the store knows of itself; the change is in the open record's write.
  Meta& edit_meta();
  [[nodiscard]] const Meta& meta() const { return meta_; }

  // ---- seals ----
  [[nodiscard]] bool has_open() const;
  // About what the open record keeps in memory; with a disk that hangs, it grows.
  [[nodiscard]] std::size_t open_bytes() const { return map_.open_bytes() + tokens_.open_bytes(); }
  // The commit that makes all that memory now holds durable.
  [[nodiscard]] Commit covering() const { return has_open() ? next(sealed_) : sealed_; }
  [[nodiscard]] Commit sealed() const { return sealed_; }
  // Whether a checkpoint waits to go on, or memory waits for one, though nothing may be open.
  [[nodiscard]] bool checkpointing() const {
    return checkpoint_.running() || map_.eviction().dirty_enough();
  }
  // Closes the open record, which may be empty, and takes a checkpoint a step further.
  void seal();
  // Records since the last call, oldest first; some changes seal by themselves.
  [[nodiscard]] std::vector<Sealed> take_sealed() { return std::exchange(out_, {}); }

  // ---- identity ----
  // The cluster's placement is known. REQUIRES: no shard is held.
  void found(HashKey placement);
  // Whether every other owner of the partition has confirmed this store.
  void set_confirmed(Partition partition, bool confirmed) {
    confirmed ? confirmed_.insert(partition) : confirmed_.erase(partition);
  }
  // The partition's next add draws a new actor.
  void forget_actor(Partition partition);
  [[nodiscard]] bool has_actor(Partition partition) const { return own(partition).id != ActorId{}; }
  // This memory lost something: it is another store from now on, to be filled
  // before it counts.
  void become(StoreId store);
  // Deletes all that is held of a partition, actor included.
  void drop(Partition partition);

  // ---- memory: see ShardMap ----
  void restore(const Loaded& loaded);
  void evict(Partition partition, Commit put_by) { map_.evict(partition, put_by); }

  // ---- recovery: in this order, before anything else ----
  void load_actor(Partition partition, ActorId actor);
  void load_tokens(const TokenRecord& record) { tokens_.load(record); }
  // False, of this and the next: it cannot be what an executor wrote.
  // `aliases`: of the records before it, which were all replayed here. `bytes`: its size.
  [[nodiscard]] bool replay(const Record& record, JournalAliases& aliases, std::size_t bytes);
  [[nodiscard]] bool load(const ShardRef& ref, const ShardState& state);
  // Of the records before the journal's first, if any are left: the oldest.
  void resume_cut(Commit oldest) { checkpoint_.resume_cut(oldest); }
  void start(BootId boot);

  [[nodiscard]] const ShardMap& map() const { return map_; }
  [[nodiscard]] const TokenTable& tokens() const { return tokens_; }

 private:
  struct OwnActor {
    ActorId id{};
    std::uint32_t index = 0;  // in the map's names
  };

  Applied apply_new(const Change& change, const Placement& placement);
  Applied answer_token(const TokenTable::Found& found) const;
  Applied add_first(const ShardRef& ref, std::int64_t amount, const Placement& placement);
  void reset(const Change& change, const Placement& placement);
  void start_again(Cell& cell);
  template <class Visit>
  void for_each_fetched(const Delta& delta, Visit visit);  // ShardMap's
  [[nodiscard]] bool merge_entry(const DeltaEntry& theirs, const Placement& placement,
                                 std::uint8_t flags);
  [[nodiscard]] bool replay_aliased(const Record& record, const JournalAliases& aliases);
  [[nodiscard]] bool merge_cell(const JournalAliases::Target& target, Commit commit,
                                std::int64_t sum);
  void doubt_actor(const DeltaEntry& theirs, const Placement& placement);
  ActorId own_actor(Partition partition);
  // Some changes need a record of their own. A batch may bring many of them, so that these
  // take no checkpoint further: the next seal() does.
  enum class Step { none, one };
  void seal(Step step);
  [[nodiscard]] const OwnActor& own(Partition partition) const { return actors_[raw(partition)]; }
  void push_open(Record& record, ShardList& local);
  void put_meta(Batch& batch);
  void put_actors(Batch& batch);

  Meta meta_;
  Random random_;
  ShardMap map_;
  TokenTable tokens_;
  Checkpoint checkpoint_;
  const bool has_peers_;
  std::vector<OwnActor> actors_;  // by partition; 0: to be drawn
  Partitions confirmed_;
  Commit sealed_{};
  std::uint64_t conflicts_ = 0;

  // What the open record needs besides the map's open entries.
  std::vector<Partition> new_actors_;  // drawn or forgotten there
  std::vector<std::string> deletes_;
  bool sightings_changed_ = false;
  bool meta_changed_ = false;

  std::vector<Sealed> out_;
  ShardState scratch_;
};

}  // namespace quipu
