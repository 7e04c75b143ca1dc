// lineage.h: how a disk that came back from an old copy is noticed.
//
// Each start of a store appends (random boot id, first commit) to its lineage.
// Whoever merges its cells notes the greatest commit seen per (store, boot), in
// the same record. A peer's testimony that is outside the lineage, or beyond what
// that boot wrote, means that this disk lost its tail or is a copy: its actors
// must never be used again (Riak #679, Scylla #2169: later adds were lost so).
#pragma once

#include <span>
#include <vector>

#include "protocol/state.h"

namespace quipu {

enum class Testimony { confirmed, rolled_back };

// What `seen` says of `store`, whose last commit before this start's first is
// implied by `lineage`, and whose newest commit is `last`.
[[nodiscard]] Testimony judge(std::span<const LineageStart> lineage, Commit last, StoreId store,
                              std::span<const Sighting> seen);

// Keeps the greatest commit per (store, boot), and of each store the latest 16
// boots: an older rollback contradicts those as well. True if anything changed.
bool merge_sightings(std::vector<Sighting>& held, std::span<const Sighting> seen);

inline constexpr std::size_t kBootsPerStore = 16;
inline constexpr std::size_t kMaxSightings = 2048;
// Peers remember only a store's latest boots, so far fewer would do.
inline constexpr std::size_t kMaxLineage = 1024;
static_assert(kMaxLineage > kBootsPerStore);

}  // namespace quipu
