// stored_keys.h: the keys of stored values. Big-endian, so that a partition is one range.
// Parsed from the end, since a counter's key may hold any byte.
//
//   m                                             → Meta
//   a | partition u16                             → the partition's own ActorId
//   j | commit u64                                → Record
//   s | partition u16 | leaf u8 | key | shard u16 → ShardState
//   t | serial u64 | lane u8                      → TokenRecord
//   n | name                                      → NamespaceDefinition
//   p | page u8                                   → a page of the PrefixSet
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu::stored {

// The first byte of every key.
enum class Type : char {
  meta = 'm',
  actor = 'a',
  record = 'j',
  shard = 's',
  token = 't',
  name_space = 'n',
  prefixes = 'p',
};

// All keys of a type, as a range for Store::scan.
struct KeyRange {
  std::string from;
  std::string to;
};
[[nodiscard]] KeyRange all(Type type);
// All shards of a leaf.
[[nodiscard]] KeyRange leaf(LeafId leaf);

[[nodiscard]] std::string meta();
[[nodiscard]] std::string actor(Partition partition);
[[nodiscard]] std::string record(Commit commit);
[[nodiscard]] std::string shard(const Placement& placement, const ShardRef& ref);
[[nodiscard]] std::string token(Serial serial, std::uint8_t lane);
[[nodiscard]] std::string namespace_definition(std::string_view name);
[[nodiscard]] std::string prefixes(std::uint8_t page);

[[nodiscard]] std::optional<Partition> parse_actor(std::string_view key);
[[nodiscard]] std::optional<Commit> parse_record(std::string_view key);
[[nodiscard]] std::optional<std::uint8_t> parse_prefixes(std::string_view key);
struct ShardName {
  Partition partition;
  ShardRef ref;  // borrows the stored key
};
[[nodiscard]] std::optional<ShardName> parse_shard(std::string_view key);

}  // namespace quipu::stored
