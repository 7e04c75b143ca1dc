// recovery.h: makes an executor from a store, and shows nothing before it is complete.
//
//   meta → actors → tokens → records, in order and without a gap → states
//        → this start's lineage, synced
//
// Replay is merge. So states that a checkpoint put before the crash, and records that it had
// not cut yet, may overlap in any order. The shards named in records are dirty and must be in
// memory. Of the states that follow, memory takes as many as it has room for.
#pragma once

#include <memory>
#include <string>

#include "protocol/random.h"
#include "storage/executor.h"
#include "storage/store.h"

namespace quipu {

// The expected owner of the store.
struct StoreOwner {
  ClusterId cluster{};
  NodeId node{};
};

enum class NewStore { unmarked, marked };  // marked: replaces another store, and must be filled

// The first meta of an empty store.
[[nodiscard]] Meta new_meta(const StoreOwner& owner, NewStore kind, Random& random);

// The key of every placement. It is unknown before the founding stores exist.
[[nodiscard]] HashKey placement_key(const Pins& pins);

// Writes `meta` to a store that has none yet.
[[nodiscard]] Status initialize(Store& store, const Meta& meta);

// Fills in `options.placement` from the store. corrupt: a damaged or missing value, or a gap
// in the records. cannot_start: the store of another cluster or node.
[[nodiscard]] Result<std::unique_ptr<Executor>> recover(Store& store, const StoreOwner& owner,
                                                        ExecutorOptions options, Random& random);

// The same without a write, so without adding this start to the lineage: for a full disk. The
// executor must not change anything, and no peer may learn of it. storage_full: the store has
// never been used.
[[nodiscard]] Result<std::unique_ptr<Executor>> recover_for_reads(Store& store,
                                                                  const StoreOwner& owner,
                                                                  ExecutorOptions options,
                                                                  Random& random);

}  // namespace quipu
