// executor.h: applies changes to the shards that this node holds, and numbers
// the records that make them durable.
//
//   apply, reset, merge ──▶ memory (open) ──seal──▶ record ──store──▶ durable
//
// Nothing here waits. Each change answers at once with the commit that will hold it. A
// caller that may reply only when it is durable waits for that commit.
//
// Invariants
//   1. Only the own actor's (commit, sum) changes here. Merge does the rest.
//   2. A cell never changes under a number once that number was sealed, or once a reset has
//      named it.
//   3. A change and its token are in one record. So are a cell and the version vector's entry
//      of the store that wrote it.
//   4. Commits are dense: each seal takes the next number.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "protocol/client_messages.h"
#include "protocol/partitions.h"
#include "protocol/random.h"
#include "storage/checkpoint.h"
#include "storage/journal_aliases.h"
#include "storage/kinds/kind.h"
#include "storage/life.h"
#include "storage/lineage.h"
#include "storage/loader.h"
#include "storage/namespaces.h"
#include "storage/prefixes.h"
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
  bool has_peers = true;  // peers need the changes; else Sealed::local stays empty
};

// A change of one shard, with or without a token. Borrows.
struct Change {
  OpKind kind = OpKind::add;
  ShardRef ref;
  std::int64_t amount = 0;       // of an expire: the deadline in wall ms; 0: none
  std::string_view words{};      // of an apply (storage/kinds/kind.h)
  std::string* reply = nullptr;  // of an apply; left empty by a retry. May be left out
  // An apply puts here the units that it changed, and those that it found as it wants them: what
  // others must hold before it is acknowledged at quorum. A retry leaves it empty. May be left out.
  Units* rests_on = nullptr;
  Token token{};
  // Not ok: a new change gets this refusal. A retry is still answered.
  Code refuse = Code::ok;
  // A refusal for good is noted with the token. Otherwise a delayed copy might still succeed.
  bool refuse_for_good = false;
  // How long a counter lives that this add creates. 0: as its namespace says.
  Wall::duration ttl{};
  Wall::duration usual_ttl{};  // what its namespace says. 0: for ever
  // An add counts in the windows of this moment; 0 means now. A reset sets the windows of this
  // moment to zero and leaves the shard; 0 means the shard.
  Wall at{};
};

// Durable when `commit` is. Not ok: nothing was changed now. unavailable: the change needs a date,
// and this node's clock is not trusted. invalid_argument: it says that an add happened when no add
// may have happened.
struct Applied {
  Code code = Code::ok;
  Commit commit{};
  ShardIndex usable = 0;  // of shard 0: how many shards adds may use
  // For a new add: the counter's total now, if the counter has only this shard.
  std::optional<std::int64_t> total{};
  bool again = false;  // it was applied earlier, under this token
};

// SET: a value that replaces all that the counter was.
struct NewValue {
  std::int64_t value = 0;
  // When it ends, which may be at once; or how long it lives from now on. Neither: it has no end.
  Wall at{};
  Wall::duration ttl{};
};

// A record for the store; or several in a row that it writes as one, all or none.
struct Sealed {
  Commit commit{};                    // of the last one
  Batch batch;                        // in the order of commits
  ShardList local;                    // what this node itself changed: the peers need it
  std::map<ShardKey, Units> units{};  // of these, where they have bodies: the units that changed
  std::uint64_t records = 1;
};

class Executor {
 public:
  Executor(Meta meta, ExecutorOptions options, Random random);

  // ---- changes ----
  // `placement`: that of the change's shard. Many changes are faster if their memory is
  // prefetched (ShardMap::for_each_fetched).
  Applied apply(const Change& change, const Placement& placement);
  // An add without a token that cannot be refused, to this shard alone. `usable` may be left out.
  Applied add(const ShardRef& ref, std::int64_t amount, const Placement& placement);
  // SET, for a counter with one shard; all of it is in the open record. If the counter had no end
  // and gets none, adds that this node has not seen are kept. Otherwise the old life ends, and they
  // end with it (life.h).
  Applied set(const ShardRef& ref, const NewValue& wanted, const Placement& placement);
  // Several of these, as one change with one token. `print` tells one such change from another;
  // `carry_out` is not called for a retry, or if it is refused.
  Applied once(const Token& token, std::uint32_t print, Partition partition, Code refuse,
               const std::function<void()>& carry_out);
  // Changes of several counters that become durable together or not at all, though some may need
  // a record of their own.
  void together(const std::function<void()>& changes);
  struct Counter {
    ShardKey first;  // its first shard
    Wall ends{};     // Wall{}: never
  };
  // Another kind than that of the shard under which this node holds a counter of the same key.
  // Looks only at what is in memory: ShardMap::under_other_kinds() names the rest.
  [[nodiscard]] std::optional<Counter> other_kind(const ShardRef& ref,
                                                  const Placement& placement) const;
  // The kind that the shard's namespace has fixed, if that is another one. Then no counter of the
  // shard's kind may be created.
  [[nodiscard]] std::optional<Kind> fixed_to_other(const ShardRef& ref) const;

  // The windows in which an add to a counter's shard also counts: those of each tier of its
  // namespace at that moment (0: now). None, if the node does not know the date.
  [[nodiscard]] std::vector<ShardKey> windows(const ShardRef& ref, Wall at) const;
  // The slices of a counter, or of one of its windows, that such words change or tell of (no words:
  // all). `first`: its first shard. None, if that is not in memory.
  [[nodiscard]] std::vector<ShardKey> slices(const ShardRef& first, std::string_view words);
  // Whom to ask for the date, which must outlive it; until then it judges none. `now` is the time
  // of the current event.
  void judge_dates_by(const Calendar& calendar) { calendar_ = &calendar; }
  void set_now(Instant now) { now_ = now; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::optional<Wall> date() const { return date(now_); }
  [[nodiscard]] std::optional<Wall> date(Instant now) const {
    return calendar_ == nullptr ? std::nullopt : calendar_->date(now);
  }
  // What the clock shows, trusted or not.
  [[nodiscard]] Wall wall() const { return wall(now_); }
  [[nodiscard]] Wall wall(Instant now) const {
    return calendar_ == nullptr ? Wall{} : calendar_->at(now);
  }
  // Merges states from another node. Returns, ascending, the partitions with states that would
  // have more than kMaxCells. Nothing was merged of these states, so this copy is not in sync
  // for these partitions.
  std::vector<Partition> merge(const Delta& delta);
  // How many states were refused so, or conflicted with this node's. A sound cluster has none, so
  // this is an alarm.
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }
  // Counters whose deadline this node saw pass.
  [[nodiscard]] std::uint64_t ended() const { return ended_; }
  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  // States that checkpoints put.
  [[nodiscard]] std::uint64_t states_put() const { return checkpoint_.states_put(); }
  // Shards of which a peer has sent cells that ended here: the owners must learn of the end. Those
  // since the last call.
  [[nodiscard]] ShardList take_outdated() { return std::exchange(outdated_, {}); }
  // A new session; usable once the open commit is durable.
  [[nodiscard]] Serial issue_session() { return tokens_.issue(); }
  // A definition of a namespace, of this node or a peer. Returns whether anything has changed.
  bool merge_namespace(const NamespaceDefinition& definition);
  [[nodiscard]] const NamespaceTable& namespaces() const { return namespaces_; }
  void merge_prefixes(std::span<const std::uint16_t> bits) {
    for (const std::uint16_t bit : bits) prefixes_.insert(bit);
  }
  [[nodiscard]] const PrefixSet& prefixes() const { return prefixes_; }

  // ---- what ends ----
  // What the other owners of a partition know of its ends.
  struct Settled {
    bool offered = false;  // they have what was offered at earlier sweeps,
    bool lost = false;     // unless some of it was lost on the way: it is offered again
    // How much may be offered now. What does not fit waits for a later sweep: an offer that fills
    // an outbox would be lost with it, each time.
    std::size_t room = 0;
    Wall heard_until{};  // everything that any member did until then is here
  };
  // Realizes the deadlines of the partition that have passed, and forgets what no copy elsewhere
  // can revive, and windows that their namespace keeps no longer. Returns what must be offered to
  // the other owners first. REQUIRES: date().
  [[nodiscard]] ShardList sweep(Partition partition, const Settled& settled);
  // The store's knowledge about itself. A change is in the write of the open record.
  Meta& edit_meta();
  [[nodiscard]] const Meta& meta() const { return meta_; }

  // ---- seals ----
  [[nodiscard]] bool has_open() const;
  // About how much memory the open record keeps. It grows while a disk hangs.
  [[nodiscard]] std::size_t open_bytes() const { return map_.open_bytes() + tokens_.open_bytes(); }
  // The commit that makes everything in memory now durable.
  [[nodiscard]] Commit covering() const { return has_open() ? next(sealed_) : sealed_; }
  [[nodiscard]] Commit sealed() const { return sealed_; }
  // Whether a checkpoint waits to go on, or memory for one, even if nothing is open.
  [[nodiscard]] bool checkpointing() const {
    return checkpoint_.running() || map_.eviction().dirty_enough();
  }
  // Closes the open record, which may be empty, and takes a checkpoint a step further.
  void seal();
  // Records since the last call, oldest first. Some changes seal by themselves.
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
  // The same until take_actor_back(), for a start that some owner has not confirmed. At rest the
  // old actor stays, so the next start asks for it again. Each new actor is a cell, or a matrix of
  // up to 64 KiB, in what it changes: so a store that lost nothing should not keep several.
  // REQUIRES: nothing of the partition was added since the start.
  void set_actor_aside(Partition partition);
  // Unless it was forgotten meanwhile.
  void take_actor_back(Partition partition);
  [[nodiscard]] bool has_actor(Partition partition) const { return actor(partition) != ActorId{}; }
  [[nodiscard]] ActorId actor(Partition partition) const { return own(partition).id; }  // 0: none
  // This memory lost something: it is another store from now on, and must be filled to be in
  // sync.
  void become(StoreId store);
  // Deletes everything held of a partition, including its actor.
  void drop(Partition partition);

  // ---- memory: see ShardMap ----
  void restore(const Loaded& loaded);
  void evict(Partition partition, Commit put_by) { map_.evict(partition, put_by); }

  // ---- recovery: in this order, before anything else ----
  void load_actor(Partition partition, ActorId actor);
  void load_tokens(const TokenRecord& record) { tokens_.load(record); }
  void load_namespace(NamespaceDefinition definition) { namespaces_.load(std::move(definition)); }
  void load_prefixes(std::uint8_t page, std::span<const std::uint8_t> bytes) {
    prefixes_.load(page, bytes);
  }
  // Both return false if the input cannot be an executor's. `aliases`: those of the records
  // before, which were all replayed here. `bytes`: the record's size.
  [[nodiscard]] bool replay(const Record& record, JournalAliases& aliases, std::size_t bytes);
  [[nodiscard]] bool load(const ShardRef& ref, const ShardState& state);
  // The oldest record before the journal's first, if a cut left any.
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
  template <class CarryOut>
  Applied apply_once(const Token& token, std::uint32_t print, Partition partition,
                     CarryOut carry_out);
  Applied answer_token(const TokenTable::Found& found) const;
  Applied add_first(const ShardRef& ref, std::int64_t amount, const Placement& placement,
                    Wall::duration ttl = {});
  [[nodiscard]] std::optional<Applied> add_to_life(Entry& entry, std::int64_t amount,
                                                   const Placement& placement);
  Applied add_everywhere(const Change& change, const Placement& placement);
  Applied add_to_counter(const Change& change, const Placement& placement);
  Applied apply_everywhere(const Change& change, const Placement& placement);
  // What one record changes besides the counter's first shard: its windows, and the slices of all.
  struct Beside {
    ShardKey name;
    std::string words;
  };
  void add_slices(const Change& change, const ShardRef& first, const Placement& placement,
                  std::vector<Beside>& beside);
  void end_slices(const std::vector<ShardKey>& slices, Wall ended);
  void end_slices(const ShardRef& first, const std::vector<ShardKey>& slices);
  void tell_of_slices(const Change& change);
  [[nodiscard]] static std::vector<ShardKey> slices_of(const Entry* first);
  [[nodiscard]] std::vector<std::string_view> bodies_of(const ShardRef& ref);
  [[nodiscard]] std::vector<Entry::PartRef> living_parts(const ShardRef& ref);
  [[nodiscard]] Wall birth_of(const ShardRef& first);
  [[nodiscard]] std::string_view model_of(const Change& change, const ShardRef& ref);
  Applied apply_to_bodies(const Change& change, const ShardRef& ref, const Placement& placement);
  [[nodiscard]] Code code_of_apply(const Change& change, const ShardRef& ref,
                                   const Placement& placement);
  [[nodiscard]] std::string_view body_of(const ShardRef& ref);
  Applied apply_to_slice(const Change& change, const ShardRef& ref, const Placement& placement);
  [[nodiscard]] Part* part_of_slice(const ShardRef& ref, ShardState& state);
  Applied begin_body(const Change& change, const ShardRef& ref, const Placement& placement);
  Applied change_body(const Change& change, const ShardRef& ref, const Placement& placement,
                      Entry& entry);
  [[nodiscard]] KindOp kind_op(const Change& change, const ShardRef& ref,
                               const Placement& placement);
  Applied reset_shard(const Change& change, const Placement& placement);
  [[nodiscard]] unsigned precision_of_new(const ShardRef& ref) const;
  [[nodiscard]] Code end_other_kinds(const ShardRef& ref, const Placement& placement);
  [[nodiscard]] Code code_of_moment(const Change& change, const NamespacePolicy& policy) const;
  enum class Room { none, now, after_a_seal };
  [[nodiscard]] Room room_for(const ShardRef& ref, std::int64_t amount, const Placement& placement);
  [[nodiscard]] bool keeps(const ShardRef& ref, const Placement& placement);
  Applied reset(const Change& change, const Placement& placement);
  Applied reset_windows(const Change& change);
  Applied expire(const Change& change, const Placement& placement);
  void put_dated(const Placement& placement, const ShardRef& ref, const ShardState& state,
                 std::uint8_t flags);
  [[nodiscard]] bool life_began_in_open(const ShardRef& ref, const ShardState& state,
                                        ActorId own) const;
  [[nodiscard]] bool began_in_open(const Entry& entry, const ShardState& state, ActorId own) const;
  void start_again(Cell& cell);
  template <class Visit>
  void for_each_fetched(const Delta& delta, Visit visit);  // ShardMap's
  [[nodiscard]] bool merge_entry(const DeltaEntry& theirs, const Placement& placement,
                                 std::uint8_t flags);
  [[nodiscard]] bool merge_dated(const DeltaEntry& theirs, const Placement& placement,
                                 std::uint8_t flags);
  [[nodiscard]] bool replay_aliased(const Record& record, const JournalAliases& aliases);
  [[nodiscard]] bool merge_cell(const JournalAliases::Target& target, Commit commit,
                                std::int64_t sum);
  [[nodiscard]] bool merge_bodies(const DeltaEntry& theirs, const Placement& placement,
                                  std::uint8_t flags);
  bool join_only_part(const DeltaEntry& theirs, const Placement& placement, Entry& entry);
  // `bytes`: of the bodies that they are of.
  void note_units(const ShardRef& ref, const Units& units, std::size_t bytes);
  void keep_units(const ShardRef& ref, ShardState& state) const;
  void doubt_actor(const DeltaEntry& theirs, const Placement& placement);
  [[nodiscard]] bool is_aside(const ShardRef& shard) const;
  [[nodiscard]] bool tells_more_cells(const DeltaEntry& theirs, const Placement& placement,
                                      ActorId actor);
  [[nodiscard]] bool tells_more_of_share(const DeltaEntry& theirs, const Placement& placement,
                                         ActorId actor);
  ActorId own_actor(Partition partition);
  // For changes that need a record of their own. A batch may bring many of them, so these seals
  // take no checkpoint further. The next seal() does.
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
  NamespaceTable namespaces_;
  PrefixSet prefixes_;
  Checkpoint checkpoint_;
  const Calendar* calendar_ = nullptr;
  Instant now_{};
  const bool has_peers_;
  std::vector<OwnActor> actors_;        // by partition; 0: to be drawn
  std::map<Partition, ActorId> aside_;  // those that wait to be confirmed
  Partitions confirmed_;
  Commit sealed_{};
  std::uint64_t conflicts_ = 0, ended_ = 0;

  // What the open record needs besides the map's open entries.
  std::vector<Partition> new_actors_;  // drawn or forgotten there
  std::set<std::string> deletes_;
  std::vector<Partition> dropped_;
  std::set<std::string, std::less<>> begun_;  // keys whose life set() began
  std::map<ShardKey, Units> open_units_;      // of bodies: the units that changed
  bool versions_changed_ = false;
  bool meta_changed_ = false;

  std::vector<Sealed> out_;
  ShardList outdated_;
  ShardState scratch_;
};

}  // namespace quipu
