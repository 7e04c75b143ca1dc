// holders.h: which owners hold what was acknowledged at quorum, of counters that the oracle leaves
// out. It looks into memory: what is acknowledged is on disks, and so in memory too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/shard_number.h"
#include "storage/kinds/kind.h"
#include "storage/kinds/parts.h"
#include "storage/life.h"
#include "tests/simulator/node.h"

namespace quipu::sim {

// The slices of a counter with that first shard.
[[nodiscard]] inline std::vector<ShardKey> slices_of(const ShardKey& first,
                                                     const ShardState& held) {
  const SliceRules* const rules =
      is_sum(first.shard) ? nullptr : rules_of(kind_of(first.shard)).slices;
  std::vector<ShardKey> slices;
  if (rules == nullptr) return slices;
  for (ShardIndex i = 1; i <= rules->count(bodies_of(held.parts)); ++i)
    slices.push_back(slice_at(first, i));
  return slices;
}

// The bodies of a counter at one node, slices and all. Nullopt: some are not in memory.
[[nodiscard]] inline std::optional<std::vector<std::string>> bodies_at(const ShardMap& map,
                                                                       const ShardKey& first,
                                                                       const ShardState& held) {
  std::vector<std::string> bodies;
  for (const Part& part : held.parts) bodies.push_back(part.body);
  for (const ShardKey& slice : slices_of(first, held)) {
    if (!map.resident(map.place(slice), slice)) return std::nullopt;
    ShardState state;
    map.read(map.place(slice), slice, state);
    keep_lives(state, held);
    for (const Part& part : state.parts) bodies.push_back(part.body);
  }
  return bodies;
}

// Nothing, or the owners of whose maps and states of the shard `has` is not true, if no majority of
// the others is left. An owner that does not run, or has evicted the shard, may have it.
template <class Has>
[[nodiscard]] std::string who_lacks(const Shared& shared, const std::vector<SimNode*>& nodes,
                                    const ShardRef& shard, const Has& has) {
  const Placement place(shared.oracle.placement(), shard);
  std::size_t owners = 0, lacking = 0;
  std::string names;
  for (const SimNode* node : nodes) {
    if (!shared.config.owners.owns(node->member(), place.partition())) continue;
    ++owners;
    if (!node->running()) continue;
    const ShardMap& map = node->core()->executor().map();
    if (!map.resident(place, shard)) continue;
    ShardState held;
    map.read(place, shard, held);
    if (has(map, held)) continue;
    ++lacking;
    names += (names.empty() ? "" : ", ") + node->name();
  }
  if (owners - lacking >= owners / 2 + 1) return {};
  return "what was acknowledged at quorum of " + std::string(shard.key) + " is not held by " +
         names;
}

}  // namespace quipu::sim
