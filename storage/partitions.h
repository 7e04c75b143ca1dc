// partitions.h: some of the partitions, of which the next one is found 64 at a time:
// where counters are few, whoever has to do with all of them looks at those few alone.
// (A std::bitset, as PartitionSet on the wire, cannot be asked for its next.)
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "protocol/ids.h"

namespace quipu {

class Partitions {
 public:
  void insert(Partition partition) { words_[raw(partition) / 64] |= bit(partition); }
  void erase(Partition partition) { words_[raw(partition) / 64] &= ~bit(partition); }
  [[nodiscard]] bool contains(Partition partition) const {
    return (words_[raw(partition) / 64] & bit(partition)) != 0;
  }
  // The first that is no less than `from`; kPartitions: none.
  [[nodiscard]] std::size_t next(std::size_t from) const {
    for (; from < kPartitions; from = (from / 64 + 1) * 64) {
      const std::uint64_t left = words_[from / 64] >> from % 64;
      if (left != 0) return from + static_cast<std::size_t>(std::countr_zero(left));
    }
    return kPartitions;
  }

  // In order.
  class Iterator {
   public:
    Iterator(const Partitions& of, std::size_t at) : of_(of), at_(of.next(at)) {}
    Partition operator*() const { return Partition{static_cast<std::uint16_t>(at_)}; }
    Iterator& operator++() {
      at_ = of_.next(at_ + 1);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Partitions& of_;
    std::size_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, kPartitions}; }

 private:
  static std::uint64_t bit(Partition partition) { return std::uint64_t{1} << raw(partition) % 64; }

  static_assert(kPartitions % 64 == 0);
  std::array<std::uint64_t, kPartitions / 64> words_{};
};

}  // namespace quipu
