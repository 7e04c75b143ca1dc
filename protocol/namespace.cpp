#include "protocol/namespace.h"

#include <algorithm>

#include "protocol/shard_number.h"

namespace quipu {

namespace {

std::string objection(const std::vector<Tier>& tiers) {
  if (tiers.size() > kMaxTiers)
    return "a namespace has at most " + std::to_string(kMaxTiers) + " tiers";
  const Tier* before = nullptr;
  for (const Tier& tier : tiers) {
    if (tier.length < std::chrono::seconds(1) || tier.length > kMaxTierLength)
      return "the windows of a tier are 1 s to 366 days long";
    // In seconds: a stranger's number of them may be too large for milliseconds.
    constexpr auto kLongest = std::chrono::duration_cast<std::chrono::seconds>(kMaxTtl);
    if (tier.kept && (*tier.kept < tier.length || *tier.kept > kLongest))
      return "the windows of a tier are kept at least for their length, and up to 1,000 years";
    if (before != nullptr &&
        (tier.length <= before->length || tier.length.count() % before->length.count() != 0))
      return "tiers go from short to long, and each is a multiple of the one before";
    if (before != nullptr && tier.kept && (!before->kept || *tier.kept < *before->kept))
      return "the windows of a longer tier are kept at least as long as those of a shorter one";
    before = &tier;
  }
  return {};
}

}  // namespace

const NamespacePolicy& policy_in_force(const NamespaceDefinition& definition) {
  static const NamespacePolicy kNone;
  return definition.changed > definition.dropped ? definition.policy : kNone;
}

std::optional<FixedKind> fixed_kind(const NamespaceDefinition& definition) {
  if (definition.changed <= definition.dropped) return std::nullopt;
  if (!definition.fixed.empty()) return definition.fixed.front();
  const NamespacePolicy& policy = definition.policy;
  if (!policy.kind) return std::nullopt;
  return FixedKind{definition.changed, *policy.kind, policy.precision.value_or(0)};
}

NamespacePolicy shown_policy(const NamespaceDefinition& definition) {
  NamespacePolicy policy = policy_in_force(definition);
  policy.kind.reset();
  policy.precision.reset();
  const std::optional<FixedKind> fixed = fixed_kind(definition);
  if (!fixed) return policy;
  policy.kind = fixed->kind;
  if (fixed->precision != 0) policy.precision = fixed->precision;
  return policy;
}

std::string objection_to_kind(const NamespacePolicy& policy) {
  if (policy.kind && !is_known(*policy.kind)) return "this version knows no such kind";
  if (!policy.precision) return {};
  if (policy.kind != Kind::distinct) return "only counters of the kind distinct have a precision";
  if (*policy.precision >= kLeastPrecision && *policy.precision <= kMostPrecision) return {};
  return "a precision is " + std::to_string(kLeastPrecision) + " to " +
         std::to_string(kMostPrecision);
}

std::string objection_to_windows(const NamespacePolicy& policy) {
  if (std::string why = objection(policy.tiers); !why.empty()) return why;
  if (policy.late && policy.tiers.empty())
    return "without tiers, no add is dated: set late beside tiers, or neither";
  if (policy.late && (*policy.late <= std::chrono::milliseconds(0) ||
                      (policy.tiers.front().kept && *policy.late > *policy.tiers.front().kept)))
    return "late is above 0, and at most as long as the windows of the first tier are kept";
  return {};
}

void note_windows(NamespaceDefinition& changed, const NamespaceDefinition& before,
                  std::uint64_t now) {
  // (Once it was dropped, a definition begins anew.)
  const bool first = before.counted_from == 0 || before.changed <= before.dropped;
  const std::vector<Tier>& tiers = changed.policy.tiers;
  changed.counted_from = first && !tiers.empty() ? now : before.counted_from;
  changed.longest_late =
      std::max(before.longest_late, changed.policy.late.value_or(std::chrono::milliseconds(0)));
  changed.whole_from.assign(tiers.size(), now);
  const std::vector<Tier>& old = policy_in_force(before).tiers;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto same = std::find_if(old.begin(), old.end(),
                                   [&](const Tier& one) { return one.length == tiers[i].length; });
    const auto at = static_cast<std::size_t>(same - old.begin());
    if (same == old.end() || at >= before.whole_from.size()) continue;
    std::uint64_t& from = changed.whole_from[i] = before.whole_from[at];
    const bool longer = same->kept && (!tiers[i].kept || *tiers[i].kept > *same->kept);
    const auto kept = static_cast<std::uint64_t>(
        std::chrono::milliseconds(same->kept.value_or(std::chrono::seconds(0))).count());
    if (longer) from = std::max(from, now - std::min(now, kept));
  }
}

std::string objection(std::string_view name, const NamespacePolicy& policy) {
  if (name.size() > kMaxNamespaceName)
    return "the name of a namespace has at most " + std::to_string(kMaxNamespaceName) + " bytes";
  if (name.find(':') != std::string_view::npos)
    return "the name of a namespace has no ':': it is what stands before the first one in a key";
  if (policy.shards && (*policy.shards < 1 || *policy.shards > kMaxShards))
    return "a counter has 1 to " + std::to_string(kMaxShards) + " shards";
  if (policy.ack == Ack::by_default || policy.read == ReadLevel::by_default)
    return "a level of a namespace is a real one: leave it out to set none";
  if (policy.ttl && (*policy.ttl <= std::chrono::milliseconds(0) || *policy.ttl > kMaxTtl))
    return kImpossibleTtl;
  if (policy.ttl && policy.shards.value_or(1) > 1)
    return "a counter that is spread over shards has no end: set ttl or shards, not both";
  if (std::string why = objection_to_windows(policy); !why.empty()) return why;
  if (std::string why = objection_to_kind(policy); !why.empty()) return why;
  if (policy.kind && name.empty())
    return "the default namespace has counters of any kind: create a namespace that fixes one";
  if (policy.kind.value_or(Kind::sum) != Kind::sum && policy.shards.value_or(1) > 1)
    return "only a sum is spread over shards: set shards or another kind, not both";
  if (policy.strict && !name.empty()) return "only the default namespace can be strict";
  return {};
}

}  // namespace quipu
