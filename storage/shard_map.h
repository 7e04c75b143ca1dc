// shard_map.h: the states of all shards that this node holds, in memory, and
// what has to be done about each.
//
//   clean ──touch──▶ dirty, open ──take_open──▶ dirty ──mark_clean──▶ clean
//
// open:  changed since the last seal, so the next record must hold it
// dirty: changed since a checkpoint last put it; the journal has it
// The digests cover the clean ones; a request adds the dirty ones on the fly.
//
// Invariant: a state is changed only after touch() (or by put(), which touches),
// and what that makes exist is told by revived() (or by put() itself).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "storage/digest.h"
#include "storage/partition_table.h"

namespace quipu {

class ShardMap {
 public:
  explicit ShardMap(HashKey placement);

  // Only while empty: the key is known once the cluster is founded.
  void rekey(HashKey placement);

  [[nodiscard]] HashKey placement_key() const { return placement_; }
  [[nodiscard]] Placement place(ShardRef ref) const { return {placement_, ref}; }
  [[nodiscard]] Entry* find(const Placement& placement, ShardRef ref) const {
    return part(placement).table.find(placement, ref);
  }
  // False, and an empty state, if the shard is not held.
  bool read(ShardRef ref, ShardState& state) const { return read(place(ref), ref, state); }
  bool read(const Placement& placement, ShardRef ref, ShardState& state) const;
  [[nodiscard]] Total total(ShardRef ref) const;
  // Of shard 0: how many shards adds may use. 1 if it is not held.
  [[nodiscard]] ShardIndex usable(const Placement& placement, ShardRef ref) const;
  // Each brings what the next one looks at into the cache.
  void prefetch_part(const Placement& placement) const { __builtin_prefetch(&part(placement)); }
  void prefetch_slot(const Placement& placement) const {
    part(placement).table.prefetch_slot(placement);
  }
  void prefetch_entry(const Placement& placement) const {
    part(placement).table.prefetch_entry(placement);
    part(placement).clean.prefetch(placement.leaf());  // touch() writes there
  }
  // For a group of shards that are looked up right after.
  void prefetch(std::span<const Placement> group) const {
    for (const Placement& one : group) prefetch_part(one);
    for (const Placement& one : group) prefetch_slot(one);
    for (const Placement& one : group) prefetch_entry(one);
  }

  // Before a change in place. `flags`: kWhole and kLocal as they apply.
  void touch(const Placement& placement, Entry* entry, std::uint8_t flags);
  // Inserts or overwrites, and touches.
  void put(const Placement& placement, ShardRef ref, const ShardState& state, std::uint8_t flags);
  // After a change in place of an entry that did not exist before.
  void revived(const Placement& placement, const Entry& entry) {
    if (entry.shows_counter() && !entry.has(Entry::kCounted)) ++part(placement).counters;
  }
  // A state from a finished checkpoint.
  void load(ShardRef ref, const ShardState& state);

  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  // About what the open entries keep in memory until they are sealed, the copies
  // that they outgrew included.
  [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }
  // The open entries in the order of their first change; they are no longer open
  // afterwards. `visit` sees each one's flags as they were.
  template <class Visit>
  void take_open(Visit&& visit) {
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (i + kAhead < open_.size()) open_[i + kAhead]->prefetch();
      Entry* entry = open_[i];
      while (entry->has(Entry::kMoved)) entry = entry->moved_to();
      visit(*entry);
      entry->clear(Entry::kOpen | Entry::kWhole | Entry::kLocal);
    }
    open_.clear();
    open_bytes_ = 0;
    free_stubs();
  }

  // ---- checkpoint ----
  [[nodiscard]] std::size_t dirty() const { return dirty_; }
  // The partition's dirty entries by leaf, key and index, or those behind `after`.
  void collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                     std::vector<Entry*>& entries) const;
  void mark_clean(Partition partition, Entry* entry);

  // ---- digest: of what is in memory, so seal first ----
  [[nodiscard]] Hash128 digest(Partition partition) const;
  [[nodiscard]] Digest::Leaves leaves(Partition partition) const;
  [[nodiscard]] Hash128 hash(const Entry& entry) const;
  // The partition's entries from that leaf on, by leaf, key and index.
  void collect_from(Partition partition, std::uint8_t leaf, std::vector<Entry*>& entries) const;
  // The leaf's entries by key and index.
  void collect_leaf(Partition partition, std::uint8_t leaf, std::vector<Entry*>& entries) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size(Partition partition) const {
    return parts_[raw(partition)].table.size();
  }
  // Exactly how many of its entries show a counter (Entry::shows_counter).
  [[nodiscard]] std::size_t counters(Partition partition) const {
    return parts_[raw(partition)].counters;
  }
  template <class Visit>
  void for_each(Partition partition, Visit&& visit) const {
    parts_[raw(partition)].table.for_each(visit);
  }
  // Forgets the partition. REQUIRES: !has_open().
  void drop(Partition partition);

  void unpack(const Entry& entry, ShardState& state) const { entry.unpack(actors_, state); }
  [[nodiscard]] ActorNames& actors() { return actors_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Part {
    PartitionTable table;
    Digest clean;
    std::uint32_t dirty = 0;
    std::uint32_t counters = 0;  // of its entries, those that show one
  };
  [[nodiscard]] const Part& part(const Placement& placement) const {
    return parts_[raw(placement.partition())];
  }
  [[nodiscard]] Part& part(const Placement& placement) {
    return parts_[raw(placement.partition())];
  }
  template <class Wanted>
  void collect(Partition partition, std::vector<Entry*>& entries, Wanted wanted) const;
  void free_stubs();

  HashKey placement_;
  HashKey digest_key_;
  Slab slab_;
  ActorNames actors_;
  std::vector<Part> parts_;
  std::vector<Entry*> open_;   // may point at stubs
  std::vector<Entry*> stubs_;  // freed at the seal
  std::size_t open_bytes_ = 0;
  std::size_t size_ = 0;
  std::size_t dirty_ = 0;
};

}  // namespace quipu
