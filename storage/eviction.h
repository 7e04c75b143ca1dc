// eviction.h: which states are in the store alone, and which to evict when memory is short.
//
// Clean states that were not looked up for a round are evicted first: the clock of second
// chances (CLOCK, Corbató 1968), whose hand moves from partition to partition. A leaf with
// evicted states is marked, since memory cannot know that such a leaf lacks a shard.
//
// Invariant: only states in a durable checkpoint are evicted, so the store has them.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "protocol/check.h"
#include "protocol/partitions.h"
#include "storage/digest_ledger.h"
#include "storage/entry_index.h"

namespace quipu {

struct MemoryLimit {
  std::size_t bytes = 0;  // about, for entries and tables; 0: no limit
  // Beyond this number of bytes, clean states are in the store alone.
  Partitions evictable{};
};

class Eviction {
 public:
  // Both must outlive it.
  Eviction(const MemoryLimit& limit, EntryIndex& index, DigestLedger& ledger);

  // Whether memory knows what is held of the shard, or of the whole leaf.
  [[nodiscard]] bool resident(const Placement& placement, const ShardRef& ref) const {
    return !any_ || resident_still(placement, ref);
  }
  [[nodiscard]] bool resident(LeafId leaf) const { return !any_ || !marked(leaf); }
  // Nothing was ever evicted.
  [[nodiscard]] bool all_resident() const { return !any_; }

  // The memory of entries and tables is beyond the limit (about).
  [[nodiscard]] bool crowded() const { return limited() && index_.footprint() > limit_.bytes; }
  // Memory has room for a state of the partition that the start reads from the store. (A quarter
  // stays free for what is needed first.)
  [[nodiscard]] bool room_to_load(Partition partition) const;
  // So much of the limit is dirty that a checkpoint is due.
  [[nodiscard]] bool dirty_enough() const {
    return limited() && ledger_.dirty_bytes() > limit_.bytes / 8;
  }
  // Dirty bytes beyond a quarter of the limit. There should be none.
  [[nodiscard]] std::size_t dirty_excess() const {
    const std::size_t usual = limit_.bytes / 4;
    return limited() && ledger_.dirty_bytes() > usual ? ledger_.dirty_bytes() - usual : 0;
  }

  // The write of that commit put a state of the partition.
  void on_put(Partition partition, Commit put_by) {
    QUIPU_CHECK(put_by_[raw(partition)] <= put_by, "states are put in the order of commits",
                partition, put_by_[raw(partition)], put_by);
    put_by_[raw(partition)] = put_by;
  }
  // Frees the partition's clean states that were not looked up since the last time. Does nothing
  // if it is not evictable, or a write later than `durable` put one of them.
  void evict(Partition partition, Commit durable);
  // Memory lacks a state of that leaf from now on.
  void mark(LeafId leaf);
  // All states of the leaf in the store have been restored.
  void set_resident(LeafId leaf);
  // How many states were evicted so far.
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  // REQUIRES: nothing of the partition is evicted.
  void drop(Partition partition);

 private:
  using Leaves = std::bitset<kLeaves>;
  [[nodiscard]] bool limited() const { return limit_.bytes != 0; }
  // Though some states were evicted.
  [[nodiscard]] bool resident_still(const Placement& placement, const ShardRef& ref) const;
  [[nodiscard]] const EntryIndex& const_index() const { return index_; }
  [[nodiscard]] bool marked(LeafId leaf) const {
    const auto& leaves = evicted_[raw(leaf.partition)];
    return leaves != nullptr && leaves->test(leaf.leaf);
  }

  const MemoryLimit limit_;
  EntryIndex& index_;
  DigestLedger& ledger_;
  std::vector<std::unique_ptr<Leaves>> evicted_;  // by partition: leaves that lack some
  std::vector<Commit> put_by_;                    // by partition: the last write that put any
  bool any_ = false;                              // anything was ever evicted
  std::uint64_t evictions_ = 0;
};

}  // namespace quipu
