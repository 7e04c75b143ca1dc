// planner.h: computes the next owner table from the current one.
//
// Consistent hashing with bounded load, stored as data: since the table is in the config,
// every node reads the same answer, and a better planner does not move data by itself.
//
//   leavers out → each hole to the feasible member with the lowest load / target,
//   ties by rendezvous hash → single replicas from the most loaded to the least,
//   until all are within one of their target
//
// Feasible: not an owner already, and at most ceil(replication / zones) of a partition's
// replicas in one zone. If some zones have too few members for that, the limit is the lowest
// higher one that leaves room for every replica: having all replicas is more important than
// spreading them. Pure and deterministic.
#pragma once

#include "cluster/membership/config.h"

namespace quipu {

// `present` may be empty (founding). It refers to the members of `before`, the result to
// those of `after`, matched by id. Members of weight 0 own nothing.
[[nodiscard]] OwnerTable plan(const OwnerTable& present, const std::vector<Member>& before,
                              const std::vector<Member>& after, std::uint8_t replication);

}  // namespace quipu
