#include "storage/eviction.h"

#include "protocol/check.h"

namespace quipu {

Eviction::Eviction(const MemoryLimit& limit, EntryIndex& index, DigestLedger& ledger)
    : limit_(limit), index_(index), ledger_(ledger), evicted_(kPartitions), put_by_(kPartitions) {}

bool Eviction::resident_still(const Placement& placement, const ShardRef& ref) const {
  return !marked({placement.partition(), placement.leaf()}) ||
         const_index().find(placement, ref) != nullptr;
}

bool Eviction::room_to_load(Partition partition) const {
  if (!limited() || !limit_.evictable.contains(partition)) return true;
  return index_.footprint() <= limit_.bytes - limit_.bytes / 4;
}

void Eviction::evict(Partition partition, Commit durable) {
  if (!limit_.evictable.contains(partition) || put_by_[raw(partition)] > durable) return;
  if (ledger_.dirty(partition) == index_.size(partition)) return;
  index_.retain(partition, [&](Entry& entry) {
    if (entry.dirty()) return true;
    if (entry.take_used() || (entry.is_dated() && entry.marked(Entry::kOffered))) return true;
    QUIPU_CHECK(!entry.has(Entry::kOpen), "what is evicted is in the store", entry.ref().key);
    if (!entry.is_bottom()) mark({partition, entry.leaf()});
    ++evictions_;
    return false;
  });
  QUIPU_CHECK(index_.size(partition) >= ledger_.dirty(partition), "what is dirty stays in memory",
              partition, index_.size(partition), ledger_.dirty(partition));
}

void Eviction::mark(LeafId leaf) {
  QUIPU_CHECK(limited() && limit_.evictable.contains(leaf.partition),
              "only states of evictable partitions are in the store alone", leaf.partition);
  auto& leaves = evicted_[raw(leaf.partition)];
  if (leaves == nullptr) {
    ledger_.keep_leaves(leaf.partition);
    leaves = std::make_unique<Leaves>();
  }
  leaves->set(leaf.leaf);
  any_ = true;
}

void Eviction::set_resident(LeafId leaf) {
  if (const auto& leaves = evicted_[raw(leaf.partition)]; leaves != nullptr)
    leaves->reset(leaf.leaf);
}

void Eviction::drop(Partition partition) {
  QUIPU_CHECK(evicted_[raw(partition)] == nullptr, "states in the store alone cannot be dropped",
              partition);
  put_by_[raw(partition)] = {};
}

}  // namespace quipu
