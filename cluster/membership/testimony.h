// testimony.h: what goes along with every state that a node shows.
//
// Whoever takes over a cell must also learn how far its writer had come, or it
// could not contradict that store after a rollback (storage/lineage.h).
#pragma once

#include <vector>

#include "storage/executor.h"

namespace quipu {

// Of all stores whose cells are held here, this node's own as of its last seal.
[[nodiscard]] inline std::vector<Sighting> testimony(const Executor& executor) {
  const Meta& meta = executor.meta();
  std::vector<Sighting> seen = meta.sightings;
  seen.push_back({meta.store, meta.lineage.back().boot, executor.sealed()});
  return seen;
}

}  // namespace quipu
