// ids.h: identifiers as types, so that one kind cannot be used for another. All are opaque:
// only equality and (for sorted output) order are meaningful.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace quipu {

enum class ClusterId : std::uint64_t {};  // hash of cluster name and members
enum class NodeId : std::uint64_t {};     // hash of the node's name; 0 = none
enum class StoreId : std::uint64_t {};    // random, one per data directory and memory; 0 = none
enum class BootId : std::uint64_t {};     // random, one per start of a store
enum class ActorId : std::uint64_t {};    // random, one per store and partition; 0 = none
enum class Commit : std::uint64_t {};     // number of a durable record; dense per store, from 1
enum class Serial : std::uint64_t {};     // a session at one executor; 0 = none
enum class Partition : std::uint16_t {};  // 0 … kPartitions-1
using ShardIndex = std::uint16_t;         // which of a counter's shards
enum class Affinity : std::uint64_t {};   // adds with one affinity go to one shard; 0 = none
enum class Alias : std::uint32_t {};      // for a shard, within a store's journal; 0 = none

inline constexpr std::size_t kPartitions = 4096;  // fixed for ever: it is in the stored keys
inline constexpr std::size_t kLeaves = 256;       // digest leaves in a partition
inline constexpr std::size_t kMaxKey = 512;       // bytes, of a counter
inline constexpr ShardIndex kMaxShards = 1024;    // per counter; a strong read collects them all

template <class Id>
[[nodiscard]] constexpr auto raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

[[nodiscard]] constexpr Commit next(Commit commit) { return Commit{raw(commit) + 1}; }

// One independent piece of a counter. Owns its bytes.
struct ShardKey {
  std::string key;
  ShardIndex shard = 0;
  auto operator<=>(const ShardKey&) const = default;
};

// The same, but borrows its bytes.
struct ShardRef {
  std::string_view key;
  ShardIndex shard = 0;
  ShardRef(std::string_view k, ShardIndex s) : key(k), shard(s) {}
  ShardRef(const ShardKey& owned) : key(owned.key), shard(owned.shard) {}
  auto operator<=>(const ShardRef&) const = default;
};

}  // namespace quipu
