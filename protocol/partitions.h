// partitions.h: a set of partitions, 512 bytes large.
//
// Finding the next member looks at 64 partitions at a time, so a sparse set is fast to
// walk. (std::bitset cannot find the next member, and has no bytes.)
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "protocol/check.h"
#include "protocol/ids.h"

namespace quipu {

class Partitions {
 public:
  static constexpr std::size_t kBytes = kPartitions / 8;

  [[nodiscard]] static Partitions all() {
    Partitions every;
    every.words_.fill(~std::uint64_t{0});
    return every;
  }
  // From kBytes bytes, as bytes() returns them.
  [[nodiscard]] static Partitions from_bytes(std::string_view bytes) {
    QUIPU_CHECK(bytes.size() == kBytes, "a set of partitions has 512 bytes", bytes.size());
    Partitions read;
    std::memcpy(read.words_.data(), bytes.data(), kBytes);
    return read;
  }
  // Partition p is bit p % 8 of byte p / 8.
  [[nodiscard]] std::string_view bytes() const {
    static_assert(std::endian::native == std::endian::little);
    return {reinterpret_cast<const char*>(words_.data()), kBytes};
  }

  void insert(Partition partition) { words_[raw(partition) / 64] |= bit(partition); }
  void erase(Partition partition) { words_[raw(partition) / 64] &= ~bit(partition); }
  [[nodiscard]] bool contains(Partition partition) const {
    return (words_[raw(partition) / 64] & bit(partition)) != 0;
  }
  [[nodiscard]] bool empty() const { return next(0) == kPartitions; }
  [[nodiscard]] Partitions also_in(const Partitions& others) const {
    Partitions both;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] = words_[i] & others.words_[i];
    return both;
  }
  [[nodiscard]] Partitions without(const Partitions& others) const {
    Partitions left;
    for (std::size_t i = 0; i < words_.size(); ++i) left.words_[i] = words_[i] & ~others.words_[i];
    return left;
  }
  friend bool operator==(const Partitions&, const Partitions&) = default;

  // The first member that is not below `from`; kPartitions: none.
  [[nodiscard]] std::size_t next(std::size_t from) const {
    for (; from < kPartitions; from = (from / 64 + 1) * 64) {
      const std::uint64_t left = words_[from / 64] >> from % 64;
      if (left != 0) return from + static_cast<std::size_t>(std::countr_zero(left));
    }
    return kPartitions;
  }

  // In ascending order.
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
