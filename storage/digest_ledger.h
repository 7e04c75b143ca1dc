// digest_ledger.h: for each partition, how many shards are held, how many of them show a
// counter, which are dirty, and the digest of all.
//
// The kept digest covers the clean shards, in memory or not. Dirty shards are added when a
// digest is needed, since their state changes with every add, and a digest may not be needed
// for long. The result is kept until the next change.
//
// Invariant: each held state is counted once. The digest of a partition is the sum of the
// hashes of its held states, whether clean or dirty, in memory or not. (That of a spent state is
// 0.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/check.h"
#include "protocol/partitions.h"
#include "storage/digest.h"
#include "storage/entry_index.h"

namespace quipu {

class DigestLedger {
 public:
  // In a partition with no more entries than this, the digest's leaves are not kept but computed
  // from all entries (100 us), unless some are in the store alone.
  static constexpr std::size_t kFew = 512;

  // `index` must outlive it.
  explicit DigestLedger(const EntryIndex& index);
  void rekey();

  // ---- digests: of what is in memory, so seal first ----
  // Costs a hash for each dirty entry, or nothing if none changed since the last time.
  [[nodiscard]] Hash128 digest(Partition partition) const;
  [[nodiscard]] Digest::Leaves leaves(Partition partition) const;
  [[nodiscard]] Hash128 hash(const Entry& entry) const;

  // ---- what is held ----
  // How many shards, in memory or not.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size(Partition partition) const {
    return parts_[raw(partition)].states;
  }
  // The partitions that hold any.
  [[nodiscard]] const Partitions& held_in() const { return held_in_; }
  // Exactly how many of those held show a counter (Entry::shows_counter).
  [[nodiscard]] std::size_t counters(Partition partition) const {
    return parts_[raw(partition)].counters;
  }

  // How many are spent (life.h): in all, and in that partition.
  [[nodiscard]] std::size_t spent() const { return spent_; }
  [[nodiscard]] std::size_t spent(Partition partition) const {
    return parts_[raw(partition)].spent;
  }

  // ---- what is dirty: changed since a checkpoint last put it ----
  [[nodiscard]] std::size_t dirty() const { return dirty_; }
  [[nodiscard]] std::size_t dirty(Partition partition) const {
    return parts_[raw(partition)].dirty;
  }
  // The partitions with any dirty state.
  [[nodiscard]] const Partitions& dirty_in() const { return dirty_in_; }
  [[nodiscard]] std::size_t dirty_bytes() const { return dirty_bytes_; }

  [[nodiscard]] std::size_t bytes() const { return leaf_bytes_; }
  // Prefetches the leaf that touching a clean entry writes to.
  void prefetch(const Placement& placement) const {
    parts_[raw(placement.partition())].clean.prefetch(placement.leaf());
  }

  // ---- what ShardMap does to entries ----
  // The state of an entry changes, or an entry comes or goes.
  void on_change(Partition partition) { parts_[raw(partition)].summed = false; }
  // A state becomes held, and the reverse.
  void on_held(Partition partition, bool shows_counter, bool is_spent = false);
  void on_gone(Partition partition, const Entry& entry);
  // A state that is held shows a counter from now on.
  void on_revived(Partition partition) {
    Part& part = parts_[raw(partition)];
    QUIPU_CHECK(part.counters < part.states, "only a state that is held shows a counter", partition,
                part.counters, part.states);
    ++part.counters;
  }
  // Before a clean entry changes, or a dirty one comes.
  void on_dirty(const Placement& placement, const Entry& entry);
  void on_new_dirty(Partition partition, const Entry& entry);
  void on_resized(std::size_t before, std::size_t now) {
    QUIPU_CHECK(dirty_bytes_ >= before, "an entry that is resized was counted as dirty", before,
                dirty_bytes_);
    dirty_bytes_ += now - before;
  }
  void on_clean(Partition partition, const Entry& entry);
  // A held state is forgotten, clean or dirty.
  void on_forgotten(Partition partition, const Entry& entry);
  // A clean state was read from the store.
  void on_loaded(const Placement& placement, const ShardRef& ref, const ShardState& state);
  // Keeps the leaves from now on, since memory alone no longer has all of their states.
  // REQUIRES: the states that the digest covers are in memory.
  void keep_leaves(Partition partition);
  // Forgets the partition. Its entries still exist.
  void drop(Partition partition);

 private:
  struct Part {
    std::uint32_t dirty = 0;
    std::uint32_t states = 0;
    std::uint32_t counters = 0;
    std::uint32_t spent = 0;
    mutable bool summed = false;  // nothing has changed since `sum`
    Digest clean;
    mutable Hash128 sum;  // the last digest()
  };
  void no_longer_dirty(Partition partition, const Entry& entry);
  template <class Wanted>
  void add_hashes(Partition partition, Digest::Leaves& leaves, Wanted wanted) const;

  const EntryIndex& index_;
  HashKey key_;
  std::vector<Part> parts_;
  std::size_t leaf_bytes_ = 0;
  std::size_t size_ = 0;
  std::size_t dirty_ = 0;
  std::size_t dirty_bytes_ = 0;
  std::size_t spent_ = 0;
  Partitions held_in_, dirty_in_;
};

}  // namespace quipu
