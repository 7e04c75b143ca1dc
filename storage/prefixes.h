// prefixes.h: under which prefixes a node ever held a counter with an end.
//
// The prefix of a key is its namespace: what stands before the first ':'. Some owner may still
// remember that a counter of such a prefix ended, and would drop the cells of a new one that have
// no birth. So a new counter is plain only where its prefix is not in the set.
//
// A set of 65,536 bits, by hash: a prefix may be taken for another one, which costs its new
// counters a few bytes. Only grows. When a quarter of the bits are set, it holds every prefix.
// Members tell each other what they added, in the order in which they added it.
#pragma once

#include <bitset>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "storage/store.h"

namespace quipu {

class PrefixSet {
 public:
  static constexpr std::size_t kBits = std::size_t{1} << 16;
  static constexpr std::size_t kMost = kBits / 4;  // then it holds all
  static constexpr std::size_t kPages = 256;       // it is stored in pages
  static constexpr std::size_t kPageBits = kBits / kPages;

  [[nodiscard]] bool holds_prefix_of(std::string_view key) const {
    return !added_.empty() && (added_.size() >= kMost || bits_.test(bit_of(key)));
  }
  void insert_prefix_of(std::string_view key) { insert(bit_of(key)); }
  void insert(std::uint16_t bit);
  // Every bit that is set, in the order of insertion.
  [[nodiscard]] std::span<const std::uint16_t> added() const { return added_; }

  // ---- at rest ----
  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  void put_open(Batch& batch);
  // Recovery: a page that is in the store.
  void load(std::uint8_t page, std::span<const std::uint8_t> bytes);

 private:
  [[nodiscard]] static std::uint16_t bit_of(std::string_view key);

  std::bitset<kBits> bits_;
  std::vector<std::uint16_t> added_;
  std::set<std::uint8_t> open_;  // pages that have changed since the last seal
};

}  // namespace quipu
