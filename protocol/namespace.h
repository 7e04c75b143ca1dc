// namespace.h: how the members hold the definitions of namespaces.
//
// A definition is policy. It never says what stored bytes mean, so members may differ about it
// for a while, and no consensus is needed. Two versions of a definition are joined
// (storage/namespaces.h). Stamps say which change is the later one.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "protocol/ids.h"
#include "quipu/namespace.h"

namespace quipu {

// When and where a definition was changed. A node that changes a definition takes a later stamp
// than any that it knows of it, so that of two changes one after the other the second wins.
struct Stamp {
  std::uint64_t at = 0;  // wall ms since 1970
  NodeId node{};
  auto operator<=>(const Stamp&) const = default;
};

// Later ones are refused when they come from a peer, so that there is always a later one.
inline constexpr std::uint64_t kLatestStamp = std::uint64_t{1} << 63;

struct NamespaceDefinition {
  std::string name{};  // without ':'
  Stamp changed{};     // when the policy was set; zero: it was never, or is void
  NamespacePolicy policy{};
  Stamp dropped{};  // the last drop. A policy that is not later is void
  bool operator==(const NamespaceDefinition&) const = default;
};

}  // namespace quipu
