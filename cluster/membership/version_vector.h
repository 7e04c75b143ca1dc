// version_vector.h: the version vector that goes along with every state that a node sends.
//
// A node that merges a cell must also learn how far the cell's writer had come. Else it
// could not detect a rollback of that store (storage/lineage.h).
#pragma once

#include <vector>

#include "protocol/check.h"
#include "storage/executor.h"

namespace quipu {

// For all stores with cells held here. This node's own entry is as of its last seal.
[[nodiscard]] inline std::vector<VersionEntry> known_versions(const Executor& executor) {
  const Meta& meta = executor.meta();
  QUIPU_CHECK(!meta.lineage.empty(), "a store has started before it testifies", meta.store);
  std::vector<VersionEntry> seen = meta.versions;
  seen.push_back({meta.store, meta.lineage.back().boot, executor.sealed()});
  return seen;
}

}  // namespace quipu
