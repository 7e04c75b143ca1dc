// planner.h: computes the owner table of a new cluster.
//
// Consistent hashing with bounded load, stored as data: since the table is in the config,
// every node reads the same answer, and a better planner does not move data by itself.
//
//   each hole to the feasible member with the lowest load / target, ties by
//   rendezvous hash → single replicas from the most loaded to the least, until all
//   are within one of their target
//
// Feasible: not an owner already, and at most ceil(replication / zones) of a partition's
// replicas in one zone. If some zones have too few members for that, the limit is the lowest
// higher one that leaves room for every replica: having all replicas is more important than
// spreading them. Pure and deterministic.
#pragma once

#include "cluster/membership/config.h"

namespace quipu {

// Members of weight 0 own nothing.
[[nodiscard]] OwnerTable plan(const std::vector<Member>& members, std::uint8_t replication);

}  // namespace quipu
