// planner.h: computes the next owner table from the present one.
//
// Consistent hashing with bounded load, written down: since the table is data in
// the config, every node reads the same answer and a better planner never moves
// data by itself.
//
//   leavers out → each hole to the feasible member with the lowest load / target,
//   ties by rendezvous hash → single replicas from the most loaded to the least,
//   until all are within one of their target
//
// Feasible: not an owner already, and at most ceil(replication / zones) of a
// partition's replicas in one zone. Where some zones have too few members for that,
// the limit is the least above it that leaves room for every replica: a full set of
// them comes before their spread. Pure and deterministic.
#pragma once

#include "cluster/membership/config.h"

namespace quipu {

// `present` may be empty (founding) and is in terms of `before`, the result in
// terms of `after`; members are matched by id. Members of weight 0 own nothing.
[[nodiscard]] OwnerTable plan(const OwnerTable& present, const std::vector<Member>& before,
                              const std::vector<Member>& after, std::uint8_t replication);

}  // namespace quipu
