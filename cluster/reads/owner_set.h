// owner_set.h: some of the owners of one partition, a bit for each position in its row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "cluster/membership/config.h"

namespace quipu {

class OwnerSet {
 public:
  OwnerSet() = default;
  // `member` alone; empty if it is none of the partition's owners.
  OwnerSet(std::span<const MemberIndex> owners, MemberIndex member) {
    const auto at = std::find(owners.begin(), owners.end(), member);
    if (at != owners.end()) bits_ = std::uint64_t{1} << (at - owners.begin());
  }

  [[nodiscard]] bool empty() const { return bits_ == 0; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(std::popcount(bits_)); }
  // Whether they have an owner in common.
  [[nodiscard]] bool meets(OwnerSet other) const { return (bits_ & other.bits_) != 0; }

  OwnerSet& operator|=(OwnerSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  OwnerSet& operator-=(OwnerSet other) {
    bits_ &= ~other.bits_;
    return *this;
  }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace quipu
