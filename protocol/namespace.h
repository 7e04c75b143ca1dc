// namespace.h: how the members hold the definitions of namespaces.
//
// A definition is policy. It never says what stored bytes mean, so members may differ about it
// for a while, and no consensus is needed. Two versions of a definition are joined
// (storage/namespaces.h). Stamps say which change is the later one.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// For people.
inline constexpr const char* kImpossibleTtl = "a counter lives for 1 ms to 1,000 years";

// The kind that a create fixed.
struct FixedKind {
  Stamp since{};  // of the create
  Kind kind = Kind::sum;
  std::uint8_t precision = 0;  // of distinct; 0: the usual one
  auto operator<=>(const FixedKind&) const = default;
};

// The most of one definition. There is more than one only while members that do not hear each other
// create the same namespace.
inline constexpr std::size_t kMostFixed = 8;

struct NamespaceDefinition {
  std::string name{};  // without ':'
  Stamp changed{};     // when the policy was set; zero: never
  NamespacePolicy policy{};
  Stamp dropped{};  // the last drop. A policy that is not later is void, but for its tiers: they
                    // say how long the windows are kept that it left behind
  // What creates later than the last drop fixed, ascending. The first one holds: see fixed_kind().
  std::vector<FixedKind> fixed{};

  // ---- what follows from its changes; of the same version as the policy ----
  std::vector<std::uint64_t>
      whole_from{};                // by tier, wall ms: windows that begin earlier lack some
  std::uint64_t counted_from = 0;  // wall ms: when it had tiers for the first time
  std::chrono::milliseconds longest_late{};  // that it ever had
  bool operator==(const NamespaceDefinition&) const = default;
};

// The policy while it is later than the last drop, else one that sets nothing.
[[nodiscard]] const NamespacePolicy& policy_in_force(const NamespaceDefinition& definition);
// The kind of its new counters. Each version of the policy says what its author knew, which may be
// another one than that of the first create. It holds only if a drop has voided all creates, and
// not the policy. Nothing: any kind.
[[nodiscard]] std::optional<FixedKind> fixed_kind(const NamespaceDefinition& definition);
// The policy in force, with that kind.
[[nodiscard]] NamespacePolicy shown_policy(const NamespaceDefinition& definition);
// Nothing, or why no namespace has this kind and this precision, for people.
[[nodiscard]] std::string objection_to_kind(const NamespacePolicy& policy);
// Nothing, or why no namespace has these tiers and this `late`, for people.
[[nodiscard]] std::string objection_to_windows(const NamespacePolicy& policy);
// What follows for a definition that has a new policy. `before`: the version before it. `now`: wall
// ms.
void note_windows(NamespaceDefinition& changed, const NamespaceDefinition& before,
                  std::uint64_t now);
// Nothing, or why this policy cannot be that of this namespace, for people.
[[nodiscard]] std::string objection(std::string_view name, const NamespacePolicy& policy);

}  // namespace quipu
