// digest.h: a partition in 256 numbers, so that two replicas find in four short questions
// which shards differ. (A Merkle tree of fixed depth, as in Dynamo and Riak, but with sums
// in place of hashes in its inner nodes.)
//
// A leaf is the sum of the 128-bit keyed hashes of its shards' states, so one
// shard's change is a subtraction and an addition.
#pragma once

#include <array>
#include <memory>

#include "protocol/keyed_hash.h"
#include "protocol/state.h"
#include "storage/fetch_ahead.h"

namespace quipu {

// Zero for a spent state.
[[nodiscard]] Hash128 hash_state(HashKey key, const ShardRef& ref, const ShardState& state);

class Digest {
 public:
  using Leaves = std::array<Hash128, kLeaves>;

  void add(std::uint8_t leaf, const Hash128& hash);
  void remove(std::uint8_t leaf, const Hash128& hash);
  // Keeps the leaves from now on, 4 KiB. Until then only their sum is kept.
  // REQUIRES: the leaves add up to that sum.
  void keep(const Leaves& leaves);
  // Prefetches the leaf.
  void prefetch(std::uint8_t leaf) const {
    if (leaves_) fetch_ahead(&(*leaves_)[leaf]);
  }

  [[nodiscard]] const Hash128& sum() const { return sum_; }
  [[nodiscard]] std::size_t bytes() const { return leaves_ ? sizeof(Leaves) : 0; }
  // Null unless they are kept.
  [[nodiscard]] const Leaves* leaves() const { return leaves_.get(); }

 private:
  Hash128 sum_;
  std::unique_ptr<Leaves> leaves_;
};

}  // namespace quipu
