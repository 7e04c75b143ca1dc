// recovery.h: from a store to an executor, and nothing shown before it is whole.
//
//   meta → actors → tokens → records, in order and without a gap → states
//        → this start's lineage, synced
//
// Replay is merge, so states that a checkpoint put before the crash, and records
// that it had not cut yet, may overlap freely, in any order. What the records name is
// dirty and must be in memory; of the states that follow, as many as there is room for.
#pragma once

#include <memory>
#include <string>

#include "protocol/random.h"
#include "storage/executor.h"
#include "storage/store.h"

namespace quipu {

// Whose store this must be.
struct StoreOwner {
  ClusterId cluster{};
  NodeId node{};
};

enum class NewStore { unmarked, marked };  // marked: replaces one, and must be filled

// The first meta of an empty store.
[[nodiscard]] Meta new_meta(const StoreOwner& owner, NewStore kind, Random& random);

// The key of every placement: nobody knows it before the founding stores exist.
[[nodiscard]] HashKey placement_key(const Pins& pins);

// Writes `meta` to a store that has none yet.
[[nodiscard]] Status initialize(Store& store, const Meta& meta);

// `options.placement` is filled in from the store. corrupt: a damaged or missing
// value, or a gap in the records; cannot_start: another cluster's or node's store.
[[nodiscard]] Result<std::unique_ptr<Executor>> recover(Store& store, const StoreOwner& owner,
                                                        ExecutorOptions options, Random& random);

// The same, without this start's place in the lineage, and so without a write: where there
// is no room for one. Nobody may change anything with that executor, or tell a peer of it.
// storage_full: the store has never been used.
[[nodiscard]] Result<std::unique_ptr<Executor>> recover_for_reads(Store& store,
                                                                  const StoreOwner& owner,
                                                                  ExecutorOptions options,
                                                                  Random& random);

}  // namespace quipu
