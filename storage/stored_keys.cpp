#include "storage/stored_keys.h"

namespace quipu::stored {
namespace {

constexpr char kMeta = 'm';
constexpr char kActor = 'a';
constexpr char kRecord = 'j';
constexpr char kShard = 's';
constexpr char kToken = 't';

// | version 1 | actor u64 | checksum u32 |
constexpr std::uint8_t kActorVersion = 1;
constexpr std::size_t kActorGuarded = 1 + sizeof(std::uint64_t);
constexpr std::size_t kActorValue = kActorGuarded + sizeof(std::uint32_t);

// Before the counter's key: tag, partition, leaf. Behind it: shard.
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

// Covers the key, so that a value under another's key is damage.
std::uint32_t checksum(std::string_view key, std::string_view value) {
  return static_cast<std::uint32_t>(hash64(HashKey{hash64(HashKey{}, key)}, value));
}

}  // namespace

std::string meta() { return {kMeta}; }

std::string actor(Partition partition) {
  std::string key{kActor};
  append(key, raw(partition));
  return key;
}

std::string record(Commit commit) {
  std::string key{kRecord};
  append(key, raw(commit));
  return key;
}

std::string shard(const Placement& placement, ShardRef ref) {
  std::string key{kShard};
  key.reserve(kShardPrefix + ref.key.size() + kShardSuffix);
  append(key, raw(placement.partition()));
  append(key, placement.leaf());
  key += ref.key;
  append(key, ref.shard);
  return key;
}

std::string token(Serial serial, std::uint8_t lane) {
  std::string key{kToken};
  append(key, raw(serial));
  append(key, lane);
  return key;
}

std::string actor_value(std::string_view key, ActorId actor) {
  std::string value;
  append(value, kActorVersion);
  append(value, raw(actor));
  append(value, checksum(key, value));
  return value;
}

std::optional<ActorId> parse_actor_value(std::string_view key, std::string_view value) {
  if (value.size() != kActorValue || value.front() != kActorVersion) return std::nullopt;
  const std::string_view guarded = value.substr(0, kActorGuarded);
  if (big_endian<std::uint32_t>(value.substr(kActorGuarded)) != checksum(key, guarded))
    return std::nullopt;
  return ActorId{big_endian<std::uint64_t>(guarded.substr(1))};
}

std::optional<Partition> parse_actor(std::string_view key) {
  if (key.size() != 1 + sizeof(Partition) || key.front() != kActor) return std::nullopt;
  const auto partition = big_endian<std::uint16_t>(key.substr(1));
  if (partition >= kPartitions) return std::nullopt;
  return Partition{partition};
}

std::optional<Commit> parse_record(std::string_view key) {
  if (key.size() != 1 + sizeof(Commit) || key.front() != kRecord) return std::nullopt;
  return Commit{big_endian<std::uint64_t>(key.substr(1))};
}

std::optional<ShardName> parse_shard(std::string_view key) {
  constexpr std::size_t kAround = kShardPrefix + kShardSuffix;
  if (key.size() <= kAround || key.size() > kAround + kMaxKey || key.front() != kShard)
    return std::nullopt;
  const auto partition = big_endian<std::uint16_t>(key.substr(1));
  const auto index = big_endian<ShardIndex>(key.substr(key.size() - kShardSuffix));
  if (partition >= kPartitions || index >= kMaxShards) return std::nullopt;
  const std::string_view name = key.substr(kShardPrefix, key.size() - kAround);
  return ShardName{Partition{partition}, ShardRef{name, index}};
}

}  // namespace quipu::stored
