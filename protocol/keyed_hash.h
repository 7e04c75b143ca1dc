// keyed_hash.h: all hashes of bytes from outside (XXH3).
//
// All are keyed, so that a client cannot aim keys at one node, bucket or leaf without
// knowing the cluster's key.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "protocol/ids.h"

namespace quipu {

enum class HashKey : std::uint64_t {};

[[nodiscard]] std::uint64_t hash64(HashKey key, std::string_view bytes);
[[nodiscard]] inline std::uint64_t hash64(HashKey key, std::span<const std::byte> bytes) {
  return hash64(key, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Hashes can be added. A set's digest is the sum of its members' hashes, and a change to
// one member is a subtraction and an addition.
struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Hash128&) const = default;
  Hash128& operator+=(const Hash128& other);
  Hash128& operator-=(const Hash128& other);
};

[[nodiscard]] Hash128 hash128(HashKey key, std::string_view bytes);

// Where a shard lives. The hash is split up only here.
//   63        52 51     44 43                    0
//  [ partition  |  leaf   |  bucket and tag        ]
struct Placement {
  std::uint64_t hash = 0;

  Placement(HashKey key, const ShardRef& shard);
  // A window lives on the same nodes as the shard that it belongs to (window.h), and so do the
  // other kinds of its key.
  Placement(const Placement& counter, HashKey key, const ShardRef& other);
  explicit Placement(std::uint64_t computed) : hash(computed) {}
  Placement() = default;  // of no shard; for arrays
  [[nodiscard]] Partition partition() const {
    return Partition{static_cast<std::uint16_t>(hash >> 52)};
  }
  [[nodiscard]] std::uint8_t leaf() const { return static_cast<std::uint8_t>(hash >> 44); }
};

static_assert(kPartitions == std::size_t{1} << 12 && kLeaves == std::size_t{1} << 8,
              "Placement cuts 12 and 8 bits");

// 1/256 of a partition: the smallest part that two replicas compare by one digest.
struct LeafId {
  Partition partition{};
  std::uint8_t leaf = 0;
  auto operator<=>(const LeafId&) const = default;
};

}  // namespace quipu
