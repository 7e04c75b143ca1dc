#include "storage/partition_table.h"

#include <algorithm>

#include "protocol/check.h"
#include "storage/fetch_ahead.h"

namespace quipu {

Entry* PartitionTable::find(const Placement& placement, const ShardRef& ref) const {
  if (capacity_ == 0) return nullptr;
  const Slot wanted = hash_bits(placement);
  for (std::uint32_t i = home(wanted); slots_[i] != 0; i = after(i)) {
    if ((slots_[i] & ~kPointer) == wanted && pointer(slots_[i])->is(ref)) return pointer(slots_[i]);
  }
  return nullptr;
}

void PartitionTable::insert(const Placement& placement, Entry* entry) {
  if (std::uint64_t{size_ + 1} * 8 > std::uint64_t{capacity_} * 7)
    resize(std::max<std::uint32_t>(8, capacity_ + capacity_ / 2));
  QUIPU_CHECK(pointer(make(placement, entry)) == entry, "an entry's address fits a slot",
              reinterpret_cast<std::uintptr_t>(entry));
  place(make(placement, entry));
  ++size_;
}

void PartitionTable::place(Slot slot) {
  std::uint32_t i = home(slot);
  while (slots_[i] != 0) i = after(i);
  slots_[i] = slot;
}

void PartitionTable::replace(const Placement& placement, Entry* old, Entry* now) {
  QUIPU_CHECK(size_ > 0 && old != now, "an entry is replaced by another one", size_);
  const Slot wanted = make(placement, old);
  std::uint32_t i = home(wanted);
  while (slots_[i] != wanted) {
    QUIPU_CHECK(slots_[i] != 0, "what is replaced is in the table", placement.hash);
    i = after(i);
  }
  slots_[i] = make(placement, now);
}

void PartitionTable::resize(std::uint32_t capacity) {
  QUIPU_CHECK(capacity == 0 ? size_ == 0 : capacity > size_, "a slot is free, so that probes end",
              capacity, size_);
  const std::unique_ptr<Slot[]> before = std::move(slots_);
  const std::uint32_t count = capacity_;
  capacity_ = capacity;
  if (capacity > 0) slots_ = std::make_unique<Slot[]>(capacity);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (before[i] != 0) place(before[i]);
  }
}

void PartitionTable::prefetch_slot(const Placement& placement) const {
  if (capacity_ != 0) fetch_ahead(&slots_[home(hash_bits(placement))]);
}

void PartitionTable::prefetch_entry(const Placement& placement) const {
  if (capacity_ == 0) return;
  const Slot wanted = hash_bits(placement);
  for (std::uint32_t i = home(wanted); slots_[i] != 0; i = after(i)) {
    if ((slots_[i] & ~kPointer) != wanted) continue;
    return pointer(slots_[i])->prefetch();
  }
}

}  // namespace quipu
