// namespace.h: settings that hold for many counters at once.
//
// The namespace of a counter is what stands before the first ':' of its key. A counter whose key
// has no ':', or whose namespace is not defined, uses the default namespace, whose name is "".
// It always exists. All members of a cluster hold all definitions. Plain data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/kind.h"
#include "quipu/levels.h"

namespace quipu {

// In a cluster, dropped ones included, without the default one.
inline constexpr std::size_t kMaxNamespaces = 1024;
inline constexpr std::size_t kMaxNamespaceName = 64;  // bytes

// The longest that a counter may be told to live: 1,000 years.
inline constexpr std::chrono::milliseconds kMaxTtl = std::chrono::hours(24 * 365'000);

// Where conditional commands decide. Wire numbers; do not renumber.
enum class Decide : std::uint8_t {
  local = 0,  // at the node that was asked, by what it knows
  home = 1,   // at the counter's home: the first of its owners that is up
};

// A window length, and how long its windows are kept once they are over: `1m for 2d`.
struct Tier {
  std::chrono::seconds length{};  // 1 s to kMaxTierLength
  std::optional<std::chrono::seconds>
      kept{};  // at least `length`, up to kMaxTtl; nothing: for ever
  bool operator==(const Tier&) const = default;
};
inline constexpr std::size_t kMaxTiers = 4;
inline constexpr std::chrono::seconds kMaxTierLength = std::chrono::hours(24 * 366);

// A counter of the kind distinct has 2^precision registers.
inline constexpr std::uint8_t kLeastPrecision = 10, kMostPrecision = 16, kUsualPrecision = 14;

// What is not set is as in a cluster without namespaces.
struct NamespacePolicy {
  std::optional<Ack> ack{};         // for adds and resets that name none
  std::optional<ReadLevel> read{};  // for reads that name none
  // How many shards a new counter has. A counter that was reset is not new: it keeps its shards.
  // (The add that creates a counter counts in its first shard. The others are used once a majority
  // of the owners knows how many there are.)
  std::optional<std::uint16_t> shards{};
  // How long a new counter lives: 1 ms to kMaxTtl. What ended begins anew with the next add.
  // Not beside `shards`: a counter that is spread over shards has no end.
  std::optional<std::chrono::milliseconds> ttl{};
  // Where conditional commands decide; not set: `local`. With `home`, every change of a counter
  // without a token goes to its home. While that node stays the home, conditional commands are as
  // atomic there as in Redis.
  std::optional<Decide> decide{};
  // Windows: an add also counts in one window of each tier, such as the minute, the hour and the
  // day. From short to long, each a multiple of the one before, and kept at least as long.
  std::vector<Tier> tiers{};
  // How long ago an add may say that it happened (AddOptions::at); not set: not at all. At most as
  // long as the windows of the first tier are kept. Only beside `tiers`.
  std::optional<std::chrono::milliseconds> late{};
  // Only in the default namespace: whether adds to undefined namespaces are refused.
  std::optional<bool> strict{};
  // The kind of its new counters. A change of another kind that would create a counter is refused
  // (wrong_type). Counters that exist stay what they are. Not set: a counter is of the kind of the
  // change that creates it. A create fixes it for good, together with the precision: no set changes
  // or unsets them. Not in the default namespace, and nothing but a sum beside `shards`.
  std::optional<Kind> kind{};
  // How precise its new counters are, kLeastPrecision to kMostPrecision. Not set: kUsualPrecision.
  // Only beside the kind distinct.
  std::optional<std::uint8_t> precision{};
  bool operator==(const NamespacePolicy&) const = default;
};

// One definition.
struct Namespace {
  std::string name{};
  NamespacePolicy policy{};
  bool operator==(const Namespace&) const = default;
};

// "likes" for "likes:42"; "" for "likes". Borrows.
[[nodiscard]] constexpr std::string_view namespace_of(std::string_view key) {
  const std::size_t colon = key.find(':');
  return colon == std::string_view::npos ? std::string_view{} : key.substr(0, colon);
}

}  // namespace quipu
