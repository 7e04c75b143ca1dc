#include "storage/stored_keys.h"

#include "protocol/check.h"
#include "protocol/state.h"
#include "protocol/window.h"

namespace quipu::stored {
namespace {

constexpr char letter(Type type) { return static_cast<char>(type); }

bool is(std::string_view key, Type type) { return !key.empty() && key.front() == letter(type); }

// Before the counter's key: tag, partition, leaf. After it: shard.
constexpr std::size_t kShardPrefix = 1 + sizeof(std::uint16_t) + 1;
constexpr std::size_t kShardSuffix = sizeof(ShardIndex);

template <class T>
void append(std::string& out, T value) {
  for (std::size_t i = sizeof(T); i-- > 0;) out += static_cast<char>(value >> (8 * i));
}

template <class T>
T big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, sizeof(T)))
    value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<T>(value);
}

}  // namespace

KeyRange all(Type type) { return {{letter(type)}, {static_cast<char>(letter(type) + 1)}}; }

KeyRange leaf(LeafId leaf) {
  QUIPU_CHECK(raw(leaf.partition) < kPartitions, "a leaf is of a partition", leaf.partition);
  const std::size_t place = raw(leaf.partition) * kLeaves + leaf.leaf;
  const auto begin = [](std::size_t at) {  // also of the one behind the last
    std::string key{letter(Type::shard)};
    append(key, static_cast<std::uint16_t>(at / kLeaves));
    append(key, static_cast<std::uint8_t>(at % kLeaves));
    return key;
  };
  return {begin(place), begin(place + 1)};
}

std::string meta() { return {letter(Type::meta)}; }

std::string actor(Partition partition) {
  QUIPU_CHECK(raw(partition) < kPartitions, "an actor writes in a partition", partition);
  std::string key{letter(Type::actor)};
  append(key, raw(partition));
  return key;
}

std::string record(Commit commit) {
  QUIPU_CHECK(commit != Commit{}, "commits count from 1");
  std::string key{letter(Type::record)};
  append(key, raw(commit));
  return key;
}

std::string shard(const Placement& placement, const ShardRef& ref) {
  QUIPU_CHECK(is_name(ref), "a name out of bounds is refused before", ref.key.size(), ref.shard);
  std::string key{letter(Type::shard)};
  key.reserve(kShardPrefix + ref.key.size() + kShardSuffix);
  append(key, raw(placement.partition()));
  append(key, placement.leaf());
  key += ref.key;
  append(key, ref.shard);
  return key;
}

std::string prefixes(std::uint8_t page) {
  std::string key{letter(Type::prefixes)};
  append(key, page);
  return key;
}

std::string token(Serial serial, std::uint8_t lane) {
  QUIPU_CHECK(serial != Serial{} && lane < kLanes, "a token's serial is not 0, and its lane exists",
              serial, lane);
  std::string key{letter(Type::token)};
  append(key, raw(serial));
  append(key, lane);
  return key;
}

std::string namespace_definition(std::string_view name) {
  return std::string{letter(Type::name_space)}.append(name);
}

std::optional<Partition> parse_actor(std::string_view key) {
  if (key.size() != 1 + sizeof(Partition) || !is(key, Type::actor)) return std::nullopt;
  const auto partition = big_endian<std::uint16_t>(key.substr(1));
  if (partition >= kPartitions) return std::nullopt;
  return Partition{partition};
}

std::optional<std::uint8_t> parse_prefixes(std::string_view key) {
  if (!is(key, Type::prefixes) || key.size() != 2) return std::nullopt;
  return static_cast<std::uint8_t>(key[1]);
}

std::optional<Commit> parse_record(std::string_view key) {
  if (key.size() != 1 + sizeof(Commit) || !is(key, Type::record)) return std::nullopt;
  const auto commit = big_endian<std::uint64_t>(key.substr(1));
  return commit == 0 ? std::nullopt : std::optional(Commit{commit});  // commits count from 1
}

std::optional<ShardName> parse_shard(std::string_view key) {
  constexpr std::size_t kAround = kShardPrefix + kShardSuffix;
  if (key.size() <= kAround || !is(key, Type::shard)) return std::nullopt;
  const auto partition = big_endian<std::uint16_t>(key.substr(1));
  const auto index = big_endian<ShardIndex>(key.substr(key.size() - kShardSuffix));
  const ShardRef ref{key.substr(kShardPrefix, key.size() - kAround), index};
  if (partition >= kPartitions || !is_name(ref)) return std::nullopt;
  return ShardName{Partition{partition}, ref};
}

}  // namespace quipu::stored
