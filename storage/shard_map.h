// shard_map.h: the states of the shards that this node holds, and the work that is due for
// each.
//
//   clean ──touch──▶ dirty, open ──take_open──▶ dirty ──mark_clean──▶ clean
//     └──evict──▶ in the store alone ──restore──▶ clean
//
// open:  changed since the last seal, so the next record must hold it
// dirty: changed since a checkpoint last put it, so the journal has it
//
// It has three parts, each with one idea, and informs all of them of each step above: the
// entries by name (index), their numbers and digests (ledger), and the states that are in
// the store alone (eviction).
//
// Invariants
//   1. A caller changes a state only after touch() (or by put(), which touches), and calls
//      revived() if that makes the state exist (put() does it itself).
//   2. An entry holds everything known of its shard. If a shard has no entry, memory knows
//      whether it is held only if it is resident(): then it is not held.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "protocol/check.h"
#include "protocol/partitions.h"
#include "storage/digest_ledger.h"
#include "storage/entry_index.h"
#include "storage/eviction.h"

namespace quipu {

class ShardMap {
 public:
  explicit ShardMap(HashKey placement, const MemoryLimit& limit = {});
  ShardMap(const ShardMap&) = delete;
  ShardMap& operator=(const ShardMap&) = delete;

  // Only while the map is empty: the key is known once the cluster is founded.
  void rekey(HashKey placement);

  [[nodiscard]] const EntryIndex& index() const { return index_; }
  [[nodiscard]] const DigestLedger& ledger() const { return ledger_; }
  [[nodiscard]] const Eviction& eviction() const { return eviction_; }

  [[nodiscard]] HashKey placement_key() const { return index_.placement_key(); }
  [[nodiscard]] Placement place(const ShardRef& ref) const { return index_.place(ref); }
  [[nodiscard]] bool resident(const Placement& placement, const ShardRef& ref) const {
    return eviction_.resident(placement, ref);
  }

  // ---- looking: REQUIRES resident(placement, ref) ----
  // Both are inline: otherwise an add takes 1.5% more.
  [[nodiscard, gnu::always_inline]] const Entry* find(const Placement& placement,
                                                      const ShardRef& ref) const {
    return looked_up(index_.find(placement, ref), placement, ref);
  }
  [[nodiscard, gnu::always_inline]] Entry* find(const Placement& placement, const ShardRef& ref) {
    return looked_up(index_.find(placement, ref), placement, ref);
  }
  // False, and an empty state, if the shard is not held.
  bool read(const ShardRef& ref, ShardState& state) const { return read(place(ref), ref, state); }
  bool read(const Placement& placement, const ShardRef& ref, ShardState& state) const;
  [[nodiscard]] Total total(const ShardRef& ref) const;
  // For shard 0: how many shards adds may use. 1 if it is not held.
  [[nodiscard]] ShardIndex usable(const Placement& placement, const ShardRef& ref) const {
    return spread_.contains(placement.partition()) ? told_usable(placement, ref) : 1;
  }
  // Prefetches the memory of shards that will be looked up.
  void prefetch(std::span<const Placement> group) const {
    index_.prefetch(group);
    for (const Placement& one : group) ledger_.prefetch(one);
  }
  // Calls visit(i, placement) for each i below `count`, in order, with the shard that ref_of(i)
  // names. It prefetches memory in groups, so that a batch waits for it once, not once for
  // each shard.
  template <class RefOf, class Visit>
  void for_each_fetched(std::size_t count, RefOf ref_of, Visit visit) const {
    constexpr std::size_t kGroup = 16;
    std::array<Placement, kGroup> group;
    for (std::size_t begin = 0; begin < count; begin += kGroup) {
      const std::size_t size = std::min(kGroup, count - begin);
      for (std::size_t i = 0; i < size; ++i) group[i] = place(ref_of(begin + i));
      prefetch(std::span(group).first(size));
      for (std::size_t i = 0; i < size; ++i) visit(begin + i, group[i]);
    }
  }

  // The kinds beside the sum of which a counter of the partition was ever held, as bits.
  [[nodiscard]] std::uint32_t kinds(Partition partition) const { return kinds_[raw(partition)]; }
  // The first shards that this key may have under another kind. None, as a rule.
  [[nodiscard]] std::vector<ShardKey> under_other_kinds(const ShardRef& ref,
                                                        const Placement& placement) const;

  // ---- changing ----
  // Call before a change in place. `flags`: kWhole and kLocal as they apply.
  void touch(const Placement& placement, Entry* entry, std::uint8_t flags);
  // Inserts or overwrites, and touches.
  void put(const Placement& placement, const ShardRef& ref, const ShardState& state,
           std::uint8_t flags);
  // Call after a change in place that makes an entry exist.
  void revived(const Placement& placement, const Entry& entry) {
    QUIPU_CHECK(entry.dirty(), "a state is touched before it changes", entry.ref().key);
    if (entry.shows_counter() && !entry.is_spread()) ledger_.on_revived(placement.partition());
  }
  [[nodiscard]] ActorNames& actors() { return index_.actors(); }
  // Forgets the partition. REQUIRES: !has_open(); nothing of it was evicted.
  void drop(Partition partition);

  // ---- what ends: counters that are not plain, and windows ----
  template <class Visit>
  void for_each_ending(Partition partition, Visit&& visit) {
    index_.for_each(partition, [&](Entry& entry) {
      if (entry.is_dated() || (entry.is_window() && !entry.is_bottom())) visit(entry);
    });
  }
  // The earliest time at which something of the partition may end or be forgotten.
  [[nodiscard]] Wall due(Partition partition) const { return due_[raw(partition)]; }
  // After a look at all entries of the partition. REQUIRES: it is right.
  void set_due(Partition partition, Wall due) { due_[raw(partition)] = due; }
  // Something of it may be due earlier than was known.
  void note_due(Partition partition, Wall due) {
    due_[raw(partition)] = std::min(due_[raw(partition)], due);
  }
  void note_all_due() { std::fill(due_.begin(), due_.end(), Wall{}); }
  static constexpr Wall kNeverDue = Wall::max();
  [[nodiscard]] static Wall due_of(const Life& life, bool is_spent);
  // A record shows the entry: see Entry::show().
  bool show(Entry& entry) {
    if (!entry.has(Entry::kHasShardCount) || !entry.show()) return false;
    ledger_.on_change(place(entry.ref()).partition());
    return true;
  }
  // The other owners may not know its end any more.
  void unmark_offered(const Placement& placement, const ShardRef& ref) {
    if (Entry* const entry = index_.find(placement, ref)) entry->unmark(Entry::kOffered);
  }
  // That state, to which the deadline has moved the entry's. It is in no record: each copy comes
  // to it by itself, also after a restart. REQUIRES: the entry is not open.
  void put_realized(Entry* entry, const ShardState& state);
  // Forgets entries of that partition. Calls deleted(ref) for each that the store may hold; the
  // write of `commit` must delete these. REQUIRES: they are not open.
  template <class Deleted>
  void forget(Partition partition, std::span<Entry* const> entries, Commit commit,
              Deleted&& deleted) {
    std::vector<const Entry*> gone;
    for (Entry* const entry : entries) {
      if (entry->marked(Entry::kAtRest)) {
        eviction_.on_put(partition, commit);
        deleted(entry->ref());
      }
      if (forget(partition, entry)) gone.push_back(entry);
    }
    std::sort(gone.begin(), gone.end());
    index_.retain(partition, [&gone](const Entry& entry) {
      return !std::binary_search(gone.begin(), gone.end(), &entry);
    });
  }

  // ---- the open record ----
  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  // About how much memory the open entries keep until they are sealed, including the old
  // copies of those that were rewritten.
  [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }
  // Visits the open entries in the order of their first change, with their old flags. They
  // are no longer open afterwards.
  template <class Visit>
  void take_open(Visit&& visit) {
    close_open(visit);
    index_.free_stubs();
  }
  // The same. But until take_open() is called, a rewritten entry leads to its new place
  // (Entry::current).
  template <class Visit>
  void close_open(Visit&& visit) {
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (i + kAhead < open_.size()) open_[i + kAhead]->prefetch();
      Entry& entry = *open_[i]->current();
      QUIPU_CHECK(entry.has(Entry::kOpen), "an open entry is listed once", entry.ref().key);
      visit(entry);
      entry.clear(Entry::kOpen | Entry::kWhole | Entry::kLocal);
    }
    open_.clear();
    open_bytes_ = 0;
  }

  // ---- checkpoints ----
  // The partition's dirty entries by leaf, key and index, or those behind `after`.
  void collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                     std::vector<Entry*>& entries) {
    index_.collect_dirty(partition, after, entries);
  }
  // The write of that commit puts the entry.
  void mark_clean(Partition partition, Entry* entry, Commit put_by);

  // ---- what is in the store alone ----
  // A state of a shard without an entry, from a finished checkpoint. Only its hash stays in
  // memory if there is little room.
  void load(const ShardRef& ref, const ShardState& state);
  // A shard with an entry is in the store, too.
  void mark_at_rest(const Placement& placement, const ShardRef& ref) {
    index_.find(placement, ref)->mark(Entry::kAtRest);
  }
  // What the store holds of a shard, or nothing. What memory already knows takes precedence,
  // also if it knows that a shard is not held.
  void restore(const ShardRef& ref, const std::optional<ShardState>& state);
  void set_resident(LeafId leaf) { eviction_.set_resident(leaf); }
  // See Eviction.
  void evict(Partition partition, Commit durable) { eviction_.evict(partition, durable); }

  // The bytes of everything, including free room.
  [[nodiscard]] std::size_t bytes() const { return index_.bytes() + ledger_.bytes(); }

 private:
  template <class Found>
  [[nodiscard, gnu::always_inline]] Found* looked_up(Found* entry, const Placement& placement,
                                                     const ShardRef& ref) const {
    if (entry != nullptr) {
      entry->mark_used();
    } else {
      QUIPU_CHECK(resident(placement, ref), "what is in the store alone is brought first",
                  placement.partition(), ref.key);
    }
    return entry;
  }
  [[nodiscard]] ShardIndex told_usable(const Placement& placement, const ShardRef& ref) const;
  Entry* insert(const Placement& placement, const ShardRef& ref, const ShardState& state);
  void held(const Placement& placement, const ShardRef& ref, const ShardState& state);
  void list_open(Entry* entry);
  void note_due(Partition partition, const ShardState& state);
  [[nodiscard]] bool forget(Partition partition, Entry* entry);

  EntryIndex index_;
  DigestLedger ledger_;
  Eviction eviction_;
  std::vector<Wall> due_;             // by partition
  std::vector<std::uint32_t> kinds_;  // by partition
  Partitions spread_;                 // a state of it once had more than one shard
  std::vector<Entry*> open_;          // may point at stubs
  std::size_t open_bytes_ = 0;
};

}  // namespace quipu
