// window.h: shards that count what one interval of time brought.
//
// A namespace may have tiers (quipu/namespace.h), such as `1m for 2d`. Then an add counts in its
// counter's shard, and in one window of each tier beside it: a shard of its own, whose name says
// what it is.
//
//   key    | the counter's key | tier in seconds, 4 bytes | number, 4 bytes |   (big-endian)
//   shard  kWindow | that of the counter's shard
//
// A window begins at number x tier seconds since 1970. It has the partition of the counter's
// shard, so it has the same owners, and one record holds both.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/ids.h"
#include "protocol/shard_number.h"
#include "protocol/wall.h"

namespace quipu {

inline constexpr std::size_t kWindowSuffix = 8;  // bytes
// The longest name of a shard, in bytes. A window's name is its counter's and a suffix.
inline constexpr std::size_t kMaxName = kMaxKey + kWindowSuffix;

struct Window {
  std::string_view key;  // of the counter. Borrows
  ShardIndex shard = 0;  // the counter's, with its kind
  std::chrono::seconds tier{};
  std::uint32_t number = 0;
  [[nodiscard]] Wall begin() const { return Wall{tier * std::int64_t{number}}; }
  [[nodiscard]] Wall end() const { return begin() + tier; }
};

// REQUIRES: is_window(ref.shard), and is_name(ref).
[[nodiscard]] Window window_of(const ShardRef& ref);
// That of the counter's shard for that moment. REQUIRES: 1970 <= at, and tier > 0 s.
[[nodiscard]] ShardKey window_at(const ShardRef& counter, std::chrono::seconds tier, Wall at);
// Whether a shard may have that name: a counter's shard, or a window that ends by kLatestDate.
[[nodiscard]] bool is_name(const ShardRef& ref);

}  // namespace quipu
