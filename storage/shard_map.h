// shard_map.h: the states of the shards that this node holds, in memory, and
// what has to be done about each.
//
//   clean ──touch──▶ dirty, open ──take_open──▶ dirty ──mark_clean──▶ clean
//     └──evict──▶ in the store alone ──restore──▶ clean
//
// open:  changed since the last seal, so the next record must hold it
// dirty: changed since a checkpoint last put it; the journal has it
// The digests cover the clean ones, evicted or not; a request adds the dirty ones, unless
// none changed since the last. So do the counts of what is held.
//
// Invariants
//   1. A state is changed only after touch() (or by put(), which touches), and what
//      that makes exist is told by revived() (or by put() itself).
//   2. An entry holds all that is known of its shard. Of a shard without one, memory
//      can tell only if it is resident(): then it is not held.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cassert>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/partitions.h"
#include "storage/digest.h"
#include "storage/fetch_ahead.h"
#include "storage/partition_table.h"

namespace quipu {

struct MemoryLimit {
  std::size_t bytes = 0;  // of entries and tables, about; 0: none
  // Of these, beyond it, clean states are in the store alone.
  Partitions evictable{};
};

class ShardMap {
 public:
  // In a partition with no more entries, the leaves of its digest are not kept but
  // told from all of them (100 us), unless some are in the store alone.
  static constexpr std::size_t kFew = 512;

  explicit ShardMap(HashKey placement, const MemoryLimit& limit = {});

  // Only while empty: the key is known once the cluster is founded.
  void rekey(HashKey placement);

  [[nodiscard]] HashKey placement_key() const { return placement_; }
  [[nodiscard]] Placement place(const ShardRef& ref) const { return {placement_, ref}; }
  // REQUIRES of this and the four below: resident(placement, ref).
  [[nodiscard]] Entry* find(const Placement& placement, const ShardRef& ref) const {
    assert(resident(placement, ref));
    Entry* const entry = part(placement).table.find(placement, ref);
    if (entry != nullptr && !entry->has(Entry::kUsed)) entry->set(Entry::kUsed);
    return entry;
  }
  // False, and an empty state, if the shard is not held.
  bool read(const ShardRef& ref, ShardState& state) const { return read(place(ref), ref, state); }
  bool read(const Placement& placement, const ShardRef& ref, ShardState& state) const;
  [[nodiscard]] Total total(const ShardRef& ref) const;
  // Of shard 0: how many shards adds may use. 1 if it is not held.
  [[nodiscard]] ShardIndex usable(const Placement& placement, const ShardRef& ref) const {
    assert(resident(placement, ref));
    return part(placement).spread ? told_usable(placement, ref) : 1;
  }
  // The memory of some that will be looked at: each step fetches what the next looks at.
  void prefetch(std::span<const Placement> group) const {
    for (const Placement& one : group) fetch_ahead(&part(one));
    for (const Placement& one : group) part(one).table.prefetch_slot(one);
    for (const Placement& one : group) {
      part(one).table.prefetch_entry(one);
      part(one).clean.prefetch(one.leaf());  // touch() writes there
    }
  }
  // visit(i, placement) for each i below `count`, in order, of the shard that ref_of(i)
  // names. In groups whose memory is fetched ahead, so that a batch waits for it once,
  // not once for each shard.
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

  // Before a change in place. `flags`: kWhole and kLocal as they apply.
  void touch(const Placement& placement, Entry* entry, std::uint8_t flags);
  // Inserts or overwrites, and touches.
  void put(const Placement& placement, const ShardRef& ref, const ShardState& state,
           std::uint8_t flags);
  // After a change in place of an entry that did not exist before.
  void revived(const Placement& placement, const Entry& entry) {
    if (entry.shows_counter() && !entry.has(Entry::kCounted)) ++part(placement).counters;
  }
  // A state from a finished checkpoint, of a shard without an entry. Only its hash
  // stays in memory if there is little room.
  void load(const ShardRef& ref, const ShardState& state);

  // ---- what is in the store alone ----
  [[nodiscard]] bool resident(const Placement& placement, const ShardRef& ref) const {
    const Part& home = part(placement);
    return home.evicted == nullptr || !home.evicted->test(placement.leaf()) ||
           home.table.find(placement, ref) != nullptr;
  }
  [[nodiscard]] bool resident(LeafId leaf) const {
    const Part& home = parts_[raw(leaf.partition)];
    return home.evicted == nullptr || !home.evicted->test(leaf.leaf);
  }
  [[nodiscard]] bool has_entry(const Placement& placement, const ShardRef& ref) const {
    return part(placement).table.find(placement, ref) != nullptr;
  }
  [[nodiscard]] bool all_resident() const { return !evicted_; }
  // What the store holds of a shard, or nothing. What memory knows by itself it knows
  // better, also that a shard is not held (any more).
  void restore(const ShardRef& ref, const std::optional<ShardState>& state);
  // All that the store holds of the leaf has been restored.
  void set_resident(LeafId leaf);
  // About the memory of entries and tables is beyond the limit.
  [[nodiscard]] bool crowded() const { return limit_.bytes != 0 && footprint() > limit_.bytes; }
  // Frees the partition's clean states that were not looked up since the last time;
  // unless it is not evictable, or one of them was put by a later write than `put_by`.
  void evict(Partition partition, Commit put_by);
  // How many entries were ever made.
  [[nodiscard]] std::uint64_t inserted() const { return inserted_; }
  [[nodiscard]] std::size_t footprint() const { return slab_.used() + table_bytes_; }
  // Of the entries that no checkpoint has put yet, and so cannot be evicted.
  [[nodiscard]] std::size_t dirty_bytes() const { return dirty_bytes_; }
  // Of them, what is beyond a quarter of the limit: more than there should ever be.
  [[nodiscard]] std::size_t dirty_excess() const {
    const std::size_t usual = limit_.bytes / 4;
    return limit_.bytes == 0 || dirty_bytes_ < usual ? 0 : dirty_bytes_ - usual;
  }

  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  // About what the open entries keep in memory until they are sealed, the copies
  // that they outgrew included.
  [[nodiscard]] std::size_t open_bytes() const { return open_bytes_; }
  // The open entries in the order of their first change; they are no longer open
  // afterwards. `visit` sees each one's flags as they were.
  template <class Visit>
  void take_open(Visit&& visit) {
    close_open(visit);
    free_stubs();
  }
  // The same, but until that is called, an entry that was outgrown leads on to the one in
  // its place (Entry::current).
  template <class Visit>
  void close_open(Visit&& visit) {
    constexpr std::size_t kAhead = 8;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (i + kAhead < open_.size()) open_[i + kAhead]->prefetch();
      Entry& entry = *open_[i]->current();
      visit(entry);
      entry.clear(Entry::kOpen | Entry::kWhole | Entry::kLocal);
    }
    open_.clear();
    open_bytes_ = 0;
  }

  // ---- checkpoint ----
  [[nodiscard]] std::size_t dirty() const { return dirty_; }
  // The partitions of which any entry is.
  [[nodiscard]] const Partitions& dirty_in() const { return dirty_in_; }
  // The partition's dirty entries by leaf, key and index, or those behind `after`.
  void collect_dirty(Partition partition, const std::optional<ShardKey>& after,
                     std::vector<Entry*>& entries) const;
  // It is put by the write of that commit.
  void mark_clean(Partition partition, Entry* entry, Commit put_by);
  // So much of the limit is dirty that it is time for one.
  [[nodiscard]] bool dirty_enough() const {
    return limit_.bytes != 0 && dirty_bytes_ > limit_.bytes / 8;
  }

  // ---- digest: of what is in memory, so seal first ----
  // Costs a hash for each dirty entry, or nothing if none changed since the last time.
  [[nodiscard]] Hash128 digest(Partition partition) const;
  [[nodiscard]] Digest::Leaves leaves(Partition partition) const;
  [[nodiscard]] Hash128 hash(const Entry& entry) const;
  // The partition's entries from that leaf on, by leaf, key and index: all that is
  // held of the leaves that are resident.
  void collect_from(Partition partition, std::uint8_t leaf, std::vector<Entry*>& entries) const;
  // The leaf's entries by key and index.
  void collect_leaf(Partition partition, std::uint8_t leaf, std::vector<Entry*>& entries) const;

  // How many shards are held, in memory or not.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size(Partition partition) const {
    return parts_[raw(partition)].states;
  }
  // The partitions of which any is.
  [[nodiscard]] const Partitions& held_in() const { return held_in_; }
  // How many have an entry, or are known not to be held.
  [[nodiscard]] std::size_t in_memory(Partition partition) const {
    return parts_[raw(partition)].table.size();
  }
  // The partitions of which any has.
  [[nodiscard]] const Partitions& entries_in() const { return entries_in_; }
  // Exactly how many of those held show a counter (Entry::shows_counter).
  [[nodiscard]] std::size_t counters(Partition partition) const {
    return parts_[raw(partition)].counters;
  }
  template <class Visit>
  void for_each(Partition partition, Visit&& visit) const {
    parts_[raw(partition)].table.for_each(visit);
  }
  // Forgets the partition. REQUIRES: !has_open(); nothing of it was evicted.
  void drop(Partition partition);

  void unpack(const Entry& entry, ShardState& state) const { entry.unpack(actors_, state); }
  [[nodiscard]] ActorNames& actors() { return actors_; }
  [[nodiscard]] std::size_t bytes() const { return slab_.reserved() + table_bytes_ + leaf_bytes_; }

 private:
  struct Part {
    // First what each add looks at.
    PartitionTable table;
    std::unique_ptr<std::bitset<kLeaves>> evicted;  // leaves that lack some; null: none
    std::uint32_t dirty = 0;
    std::uint32_t states = 0;     // evicted ones too; of them,
    std::uint32_t counters = 0;   // those that show a counter
    bool spread = false;          // a state of it was, once
    mutable bool summed = false;  // none has changed since `sum`: for who asks again
    Digest clean;
    Commit put_by{};      // the last of it that was put
    mutable Hash128 sum;  // the last digest()
  };
  [[nodiscard]] const Part& part(const Placement& placement) const {
    return parts_[raw(placement.partition())];
  }
  [[nodiscard]] Part& part(const Placement& placement) {
    return parts_[raw(placement.partition())];
  }
  [[nodiscard]] ShardIndex told_usable(const Placement& placement, const ShardRef& ref) const;
  template <class Wanted>
  void collect(Partition partition, std::vector<Entry*>& entries, Wanted wanted) const;
  void free_stubs();
  void insert(Part& home, const Placement& placement, Entry* entry);
  void count(const Placement& placement, const Entry& entry);
  void count_dirty(const Placement& placement, const Entry& entry);
  Entry* resized(Part& home, const Placement& placement, Entry* old, const ShardState& state);
  void set_evicted(Part& home, std::uint8_t leaf);
  void keep_leaves(Part& home);
  template <class Wanted>
  void add_hashes(const Part& home, Digest::Leaves& leaves, Wanted wanted) const;

  HashKey placement_;
  HashKey digest_key_;
  Slab slab_;
  ActorNames actors_;
  std::vector<Part> parts_;
  std::vector<Entry*> open_;  // may point at stubs
  struct Stub {
    Entry* entry;
    std::size_t size;
  };
  std::vector<Stub> stubs_;  // freed by take_open()
  std::size_t open_bytes_ = 0;
  const MemoryLimit limit_;
  std::size_t table_bytes_ = 0;
  std::size_t leaf_bytes_ = 0;  // of digests
  std::size_t size_ = 0;
  std::size_t dirty_ = 0;
  std::size_t dirty_bytes_ = 0;
  Partitions held_in_, entries_in_, dirty_in_;  // which parts have any of these
  bool evicted_ = false;                        // ever, anything
  std::uint64_t inserted_ = 0;
};

}  // namespace quipu
