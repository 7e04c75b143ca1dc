// namespace.h: settings that hold for many counters at once.
//
// The namespace of a counter is what stands before the first ':' of its key. A counter whose key
// has no ':', or whose namespace is not defined, uses the default namespace, whose name is "".
// It always exists. All members of a cluster hold all definitions. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/levels.h"

namespace quipu {

// In a cluster, dropped ones included, without the default one.
inline constexpr std::size_t kMaxNamespaces = 1024;
inline constexpr std::size_t kMaxNamespaceName = 64;  // bytes

// What is not set is as in a cluster without namespaces.
struct NamespacePolicy {
  std::optional<Ack> ack{};         // for adds and resets that name none
  std::optional<ReadLevel> read{};  // for reads that name none
  // How many shards a new counter has. A counter that was reset is not new: it keeps its shards.
  // (The add that creates a counter counts in its first shard. The others are used once a majority
  // of the owners knows how many there are.)
  std::optional<std::uint16_t> shards{};
  // Only in the default namespace: whether adds to undefined namespaces are refused.
  std::optional<bool> strict{};
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
