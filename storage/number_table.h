// number_table.h: the numbers of a list's items, by the hashes of their names. The caller
// resolves a number to its item.
//
// Open addressing over slots of 8 bytes, linear probing, at most half full. Removing closes
// the gap (Knuth, The Art of Computer Programming 6.4, algorithm R), so there are no
// tombstones. A lookup costs one cache miss, which prefetch() can hide. std::unordered_map
// would take three, a third of all CPU of a node with peers.
//
// Clients know the key of the placement hash. So the table scatters hashes once more, by a
// secret of this process, and a client cannot aim at one slot. Nothing that leaves the node
// may depend on a table's order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/check.h"
#include "storage/fetch_ahead.h"

namespace quipu {

class NumberTable {
 public:
  // `secret`: odd.
  explicit NumberTable(std::uint64_t secret) : secret_(secret) {
    QUIPU_CHECK(secret % 2 == 1, "an even secret would lose bits of each hash", secret);
  }

  // The number under this hash for which `is(number)` holds.
  template <class Is>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t hash, Is&& is) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t at = home(tag); slots_[at].tag != 0; at = after(at)) {
      if (slots_[at].tag == tag && is(slots_[at].number)) return slots_[at].number;
    }
    return std::nullopt;
  }
  // REQUIRES: it is not in the table.
  void insert(std::uint64_t hash, std::uint32_t number);
  // REQUIRES: it is.
  void erase(std::uint64_t hash, std::uint32_t number);
  void clear();

  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) fetch_ahead(&slots_[home(tag_of(hash))]);
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;  // 0: empty
    std::uint32_t number = 0;
  };

  [[nodiscard]] std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash * secret_ >> 32) | 1;
  }
  [[nodiscard]] std::size_t home(std::uint32_t tag) const { return tag >> 1 & (slots_.size() - 1); }
  [[nodiscard]] std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void place(Slot slot);
  void grow();

  std::uint64_t secret_;
  std::vector<Slot> slots_;  // none, or 2^n
  std::size_t size_ = 0;
};

}  // namespace quipu
