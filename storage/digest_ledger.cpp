#include "storage/digest_ledger.h"

#include "protocol/check.h"

namespace quipu {
namespace {

// Every owner must compute the same digest, so its key is derived from the cluster's key.
HashKey derive_digest_key(HashKey placement) { return HashKey{hash64(placement, "digest")}; }

}  // namespace

DigestLedger::DigestLedger(const EntryIndex& index)
    : index_(index), key_(derive_digest_key(index.placement_key())), parts_(kPartitions) {}

void DigestLedger::rekey() {
  QUIPU_CHECK(size_ == 0, "the digest key changes only while no state is held", size_);
  key_ = derive_digest_key(index_.placement_key());
}

// ---- digests ----

Hash128 DigestLedger::hash(const Entry& entry) const {
  ShardState state;
  index_.unpack(entry, state);
  return hash_state(key_, entry.ref(), state);
}

Hash128 DigestLedger::digest(Partition partition) const {
  const Part& part = parts_[raw(partition)];
  if (part.dirty == 0) return part.clean.sum();
  if (part.summed) return part.sum;
  part.sum = part.clean.sum();
  std::size_t dirty = 0;
  index_.for_each(partition, [&](const Entry& entry) {
    if (!entry.dirty()) return;
    part.sum += hash(entry);
    ++dirty;
  });
  QUIPU_CHECK(dirty == part.dirty, "what is dirty is in memory, and counted once", partition, dirty,
              part.dirty);
  part.summed = true;
  return part.sum;
}

Digest::Leaves DigestLedger::leaves(Partition partition) const {
  const Part& part = parts_[raw(partition)];
  const bool kept = part.clean.leaves() != nullptr;
  Digest::Leaves leaves = kept ? *part.clean.leaves() : Digest::Leaves{};
  if (kept && part.dirty == 0) return leaves;
  add_hashes(partition, leaves, [kept](const Entry& entry) { return !kept || entry.dirty(); });
  return leaves;
}

template <class Wanted>
void DigestLedger::add_hashes(Partition partition, Digest::Leaves& leaves, Wanted wanted) const {
  ShardState state;
  index_.for_each(partition, [&](const Entry& entry) {
    if (!wanted(entry)) return;
    index_.unpack(entry, state);
    leaves[entry.leaf()] += hash_state(key_, entry.ref(), state);
  });
}

void DigestLedger::keep_leaves(Partition partition) {
  Part& part = parts_[raw(partition)];
  if (part.clean.leaves() != nullptr) return;
  Digest::Leaves leaves{};
  add_hashes(partition, leaves, [](const Entry& entry) { return !entry.dirty(); });
  part.clean.keep(leaves);
  leaf_bytes_ += part.clean.bytes();
}

// ---- changes of entries ----

void DigestLedger::on_held(Partition partition, bool shows_counter, bool is_spent) {
  Part& part = parts_[raw(partition)];
  if (is_spent) {
    ++part.spent;
    ++spent_;
  }
  if (shows_counter) ++part.counters;
  part.summed = false;
  ++part.states;
  ++size_;
  held_in_.insert(partition);
  QUIPU_CHECK(part.counters <= part.states, "no more states show a counter than are held",
              partition, part.counters, part.states);
}

void DigestLedger::on_gone(Partition partition, const Entry& entry) {
  Part& part = parts_[raw(partition)];
  QUIPU_CHECK(part.states > 0, "what goes was counted", partition, entry.ref().key);
  if (entry.shows_counter()) {
    QUIPU_CHECK(part.counters > 0, "a removed counter was in the key count", partition,
                entry.ref().key);
    --part.counters;
  }
  QUIPU_CHECK(size_ > 0, "the sum of what is held counts each state", size_);
  if (entry.is_spent()) {
    QUIPU_CHECK(part.spent > 0 && spent_ > 0, "a spent state was counted as one", partition,
                part.spent, spent_);
    --part.spent;
    --spent_;
  }
  --part.states;
  --size_;
}

void DigestLedger::on_dirty(const Placement& placement, const Entry& entry) {
  QUIPU_CHECK(!entry.dirty(), "an entry becomes dirty once", entry.ref().key);
  QUIPU_CHECK(entry.leaf() == placement.leaf(), "an entry lies in the leaf that its name says",
              entry.leaf(), placement.leaf());
  if (!entry.is_bottom())
    parts_[raw(placement.partition())].clean.remove(placement.leaf(), hash(entry));
  on_new_dirty(placement.partition(), entry);
}

void DigestLedger::on_new_dirty(Partition partition, const Entry& entry) {
  QUIPU_CHECK(parts_[raw(partition)].dirty < index_.size(partition),
              "no more entries are dirty than there are", partition, parts_[raw(partition)].dirty,
              index_.size(partition));
  ++parts_[raw(partition)].dirty;
  ++dirty_;
  dirty_bytes_ += entry.size();
  dirty_in_.insert(partition);
}

void DigestLedger::no_longer_dirty(Partition partition, const Entry& entry) {
  Part& part = parts_[raw(partition)];
  QUIPU_CHECK(part.dirty > 0 && dirty_bytes_ >= entry.size(), "what is put or forgotten was dirty",
              partition, part.dirty, dirty_bytes_);
  dirty_bytes_ -= entry.size();
  part.summed = false;
  --dirty_;
  if (--part.dirty == 0) dirty_in_.erase(partition);
  QUIPU_CHECK(dirty_ > 0 || dirty_bytes_ == 0, "where nothing is dirty, no byte is", dirty_bytes_);
}

void DigestLedger::on_clean(Partition partition, const Entry& entry) {
  no_longer_dirty(partition, entry);
  parts_[raw(partition)].clean.add(entry.leaf(), hash(entry));
}

void DigestLedger::on_forgotten(Partition partition, const Entry& entry) {
  on_change(partition);
  on_gone(partition, entry);
  if (entry.dirty()) {
    no_longer_dirty(partition, entry);
  } else {
    parts_[raw(partition)].clean.remove(entry.leaf(), hash(entry));
  }
  if (parts_[raw(partition)].states == 0) held_in_.erase(partition);
}

void DigestLedger::on_loaded(const Placement& placement, const ShardRef& ref,
                             const ShardState& state) {
  QUIPU_CHECK(parts_[raw(placement.partition())].states > 0, "a loaded state is counted as held",
              placement.partition(), ref.key);
  parts_[raw(placement.partition())].clean.add(placement.leaf(), hash_state(key_, ref, state));
}

void DigestLedger::drop(Partition partition) {
  Part& part = parts_[raw(partition)];
  index_.for_each(partition, [this](const Entry& entry) {
    if (entry.dirty()) dirty_bytes_ -= entry.size();
  });
  QUIPU_CHECK(size_ >= part.states && dirty_ >= part.dirty, "the sums hold each partition's part",
              partition, size_, part.states, dirty_, part.dirty);
  size_ -= part.states;
  dirty_ -= part.dirty;
  spent_ -= part.spent;
  leaf_bytes_ -= part.clean.bytes();
  part = Part{};
  held_in_.erase(partition);
  dirty_in_.erase(partition);
  QUIPU_CHECK(dirty_ > 0 || dirty_bytes_ == 0, "dirty bytes go with their partition", partition,
              dirty_bytes_);
}

}  // namespace quipu
