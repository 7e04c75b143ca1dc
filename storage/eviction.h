// eviction.h: which states are in the store alone, and which go there when memory is short.
//
// Clean states that were not looked up for a round go first: the clock of second chances
// (CLOCK, Corbató 1968), whose hand moves from partition to partition. A leaf that lacks
// some is marked, since memory cannot say of such a leaf "there is no such shard".
//
// Invariant: only what a durable checkpoint holds is evicted, so that the store has it.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "protocol/partitions.h"
#include "storage/digest_ledger.h"
#include "storage/entry_index.h"

namespace quipu {

struct MemoryLimit {
  std::size_t bytes = 0;  // of entries and tables, about; 0: none
  // Of these, beyond it, clean states are in the store alone.
  Partitions evictable{};
};

class Eviction {
 public:
  // Both must outlive it.
  Eviction(const MemoryLimit& limit, EntryIndex& index, DigestLedger& ledger);

  // Whether memory can tell what is held of the shard, or of the whole leaf.
  [[nodiscard]] bool resident(const Placement& placement, const ShardRef& ref) const {
    return !any_ || !marked({placement.partition(), placement.leaf()}) ||
           const_index().find(placement, ref) != nullptr;
  }
  [[nodiscard]] bool resident(LeafId leaf) const { return !any_ || !marked(leaf); }
  // Nothing was ever evicted.
  [[nodiscard]] bool all_resident() const { return !any_; }

  // About the memory of entries and tables is beyond the limit.
  [[nodiscard]] bool crowded() const { return limited() && index_.footprint() > limit_.bytes; }
  // A state of the partition that comes from the store at the start has room in memory.
  // (A quarter is left for what is needed first.)
  [[nodiscard]] bool room_to_load(Partition partition) const;
  // So much of the limit is dirty that it is time for a checkpoint.
  [[nodiscard]] bool dirty_enough() const {
    return limited() && ledger_.dirty_bytes() > limit_.bytes / 8;
  }
  // Of what is dirty, the bytes beyond a quarter of the limit: there should be none.
  [[nodiscard]] std::size_t dirty_excess() const {
    const std::size_t usual = limit_.bytes / 4;
    return limited() && ledger_.dirty_bytes() > usual ? ledger_.dirty_bytes() - usual : 0;
  }

  // A state of the partition was put by the write of that commit.
  void on_put(Partition partition, Commit put_by) { put_by_[raw(partition)] = put_by; }
  // Frees the partition's clean states that were not looked up since the last time, unless
  // it is not evictable, or one of them was put by a later write than `durable`.
  void evict(Partition partition, Commit durable);
  // Memory lacks a state of that leaf.
  void mark(LeafId leaf);
  // All that the store holds of the leaf has been restored.
  void set_resident(LeafId leaf);
  // REQUIRES: nothing of the partition is evicted.
  void drop(Partition partition);

 private:
  using Leaves = std::bitset<kLeaves>;
  [[nodiscard]] bool limited() const { return limit_.bytes != 0; }
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
  bool any_ = false;                              // ever, anything
};

}  // namespace quipu
