// partition_table.h: the shards of one partition by name.
//
// Open addressing over 8-byte slots, linear probing. A slot holds a pointer of 48 bits, which
// is a multiple of 4, and in the other 18 bits the low end of the placement's hash: enough to
// grow without a look at the entries. (With more than 100,000 in a partition, more of them
// look alike than one would like, and their keys decide.) One table per partition keeps
// growing short. An order-preserving range reduction lets it grow by half instead of doubling.
// Shards are never removed one by one, only when the whole table is built again (retain), so
// there are no tombstones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "protocol/keyed_hash.h"
#include "storage/entry.h"

namespace quipu {

class PartitionTable {
 public:
  // The table's slots, without the entries. The caller that inserted them owns them.
  [[nodiscard]] Entry* find(const Placement& placement, const ShardRef& ref) const;
  // REQUIRES: find() gave nothing.
  void insert(const Placement& placement, Entry* entry);
  // REQUIRES: `old` is in the table.
  void replace(const Placement& placement, Entry* old, Entry* now);

  // Removes those for which `keep` is false, and never looks at them again.
  template <class Keep>
  void retain(Keep&& keep) {
    const std::uint32_t before = size_;
    for (std::uint32_t i = 0; i < capacity_; ++i) {
      if (slots_[i] == 0 || keep(pointer(slots_[i]))) continue;
      slots_[i] = 0;
      --size_;
    }
    if (size_ == before) return;
    resize(size_ == 0 ? 0 : std::max<std::uint32_t>(8, size_ + size_ / 2));
  }

  // Prefetches the slot first, then the entry behind it.
  void prefetch_slot(const Placement& placement) const;
  void prefetch_entry(const Placement& placement) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return capacity_ * sizeof(Slot); }

  // The order depends on the placement key: nothing that leaves the node may depend on it.
  template <class Visit>
  void for_each(Visit&& visit) const {
    constexpr std::uint32_t kAhead = 8;
    for (std::uint32_t i = 0; i < capacity_; ++i) {
      if (i + kAhead < capacity_ && slots_[i + kAhead] != 0)
        pointer(slots_[i + kAhead])->prefetch();
      if (slots_[i] != 0) visit(pointer(slots_[i]));
    }
  }

 private:
  using Slot = std::uint64_t;  // 0: empty

  static constexpr unsigned kHashBits = 18;
  static constexpr Slot kPointer = ((Slot{1} << 48) - 1) & ~Slot{3};
  static_assert(Slab::kUnit == 4);

  // The slot's bits of the placement, in place.
  static Slot hash_bits(const Placement& placement) {
    return (placement.hash >> 2 << 48) | (placement.hash & 3);
  }
  static Slot make(const Placement& placement, Entry* entry) {
    return hash_bits(placement) | reinterpret_cast<Slot>(entry);
  }
  static Entry* pointer(Slot slot) { return reinterpret_cast<Entry*>(slot & kPointer); }
  // The home slot of these hash bits.
  [[nodiscard]] std::uint32_t home(Slot bits) const {
    const std::uint64_t hash = bits >> 48 << 2 | (bits & 3);
    return static_cast<std::uint32_t>((hash * capacity_) >> kHashBits);
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t i) const {
    return i + 1 == capacity_ ? 0 : i + 1;
  }
  void place(Slot slot);
  void resize(std::uint32_t capacity);

  std::unique_ptr<Slot[]> slots_;
  std::uint32_t capacity_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace quipu
