#include "protocol/window.h"

#include "protocol/check.h"

namespace quipu {
namespace {

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

void append_big_endian(std::string& to, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(static_cast<char>(value >> shift & 0xff));
}

}  // namespace

Window window_of(const ShardRef& ref) {
  QUIPU_CHECK(is_window(ref.shard) && ref.key.size() > kWindowSuffix,
              "the name of a window is longer than a key", ref.shard, ref.key.size());
  const std::size_t key = ref.key.size() - kWindowSuffix;
  return {ref.key.substr(0, key), static_cast<ShardIndex>(ref.shard & ~kWindow),
          std::chrono::seconds(big_endian(ref.key.substr(key, 4))),
          big_endian(ref.key.substr(key + 4))};
}

ShardKey window_at(const ShardRef& counter, std::chrono::seconds tier, Wall at) {
  QUIPU_CHECK(tier.count() > 0 && at >= Wall{} && !is_window(counter.shard),
              "a counter's shard has windows from 1970 on", tier.count(),
              at.time_since_epoch().count(), counter.shard);
  ShardKey name;
  name.key.reserve(counter.key.size() + kWindowSuffix);
  name.key = counter.key;
  append_big_endian(name.key, static_cast<std::uint32_t>(tier.count()));
  append_big_endian(name.key, static_cast<std::uint32_t>(at.time_since_epoch() / tier));
  name.shard = static_cast<ShardIndex>(kWindow | counter.shard);
  return name;
}

bool is_name(const ShardRef& ref) {
  if (!is_known(kind_of(ref.shard))) return false;
  if (!is_window(ref.shard)) return !ref.key.empty() && ref.key.size() <= kMaxKey;
  if (ref.key.size() <= kWindowSuffix || ref.key.size() > kMaxName) return false;
  const Window window = window_of(ref);
  constexpr std::uint64_t kLatest = kLatestDateMs / 1000;
  return window.tier.count() > 0 &&
         (std::uint64_t{window.number} + 1) * static_cast<std::uint64_t>(window.tier.count()) <=
             kLatest;
}

}  // namespace quipu
