// lineage.h: detects a disk that came back from an old copy.
//
// Each start of a store appends (random boot id, first commit) to its lineage. A node that
// merges its cells notes the greatest commit per (store, boot), in the same record: the
// version vector. If a peer's version vector is outside the lineage, or beyond what that boot
// wrote, then this disk lost its tail or is a copy. Its actors must never be used again
// (Riak #679, Scylla #2169: later adds were lost so).
#pragma once

#include <span>
#include <vector>

#include "protocol/state.h"

namespace quipu {

enum class LineageCheck { confirmed, rolled_back };

// Judges the `seen` part of a version vector that is about `store`. `lineage` implies the
// last commit before this start's first; `last` is the newest commit.
[[nodiscard]] LineageCheck check_lineage(std::span<const LineageStart> lineage, Commit last,
                                         StoreId store, std::span<const VersionEntry> seen);

// Keeps the greatest commit per (store, boot), and the latest 16 boots of each store: an older
// boot may reveal a rollback, too. True if anything changed.
bool merge_versions(std::vector<VersionEntry>& held, std::span<const VersionEntry> seen);

inline constexpr std::size_t kBootsPerStore = 16;
inline constexpr std::size_t kMaxVersionEntries = 2048;
// Peers remember only a store's latest boots, so far fewer would be enough.
inline constexpr std::size_t kMaxLineage = 1024;
static_assert(kMaxLineage > kBootsPerStore);

}  // namespace quipu
