// Creates, opens or rebuilds the store at the start.
#include <utility>

#include "cluster/membership/pins.h"
#include "node/disk/data_directory.h"

namespace quipu {
namespace {

Result<RecoveredStore> recover_store(Result<std::unique_ptr<Store>> store,
                                     const DataDirectory& directory, const StoreOwner& owner,
                                     const ExecutorOptions& options, Random& random) {
  if (!store.ok()) return store.status();
  auto recovered = recover_or_read(**store, owner, options, random);
  if (recovered.ok()) return RecoveredStore{std::move(*store), std::move(*recovered)};
  return Status{recovered.status().code(),
                directory.store().string() + ": " + recovered.status().detail()};
}

// It replaced another store, and was not replaced itself.
bool is_replacement(const Meta& meta) { return meta.marked && !retired(meta.pins, meta.store); }

// As far as the store knows. Before the cluster was founded, nothing was replaced.
bool still_counts(const Meta& meta) { return meta.pins.founded && !retired(meta.pins, meta.store); }

}  // namespace

Result<Recovered> recover_or_read(Store& store, const StoreOwner& owner,
                                  const ExecutorOptions& options, Random& random) {
  auto executor = recover(store, owner, options, random);
  if (executor.ok()) return Recovered{std::move(*executor)};
  const Status why = executor.status();
  if (why.code() != Code::storage_full) return why;
  auto reader = recover_for_reads(store, owner, options, random);
  if (!reader.ok()) return reader.status();
  return Recovered{std::move(*reader), why};
}

Result<RecoveredStore> recover_directory(const DataDirectory& directory, const StoreOwner& owner,
                                         const ExecutorOptions& options, Rebuild rebuild,
                                         Random& random, const Log& log) {
  // Evicted states are read by name, and most names were never stored.
  const bool filter = options.memory.bytes != 0;
  const auto create = [&](NewStore kind) {
    return recover_store(directory.create_store(new_meta(owner, kind, random), filter), directory,
                         owner, options, random);
  };
  if (!directory.held_store()) {
    return create(rebuild == Rebuild::no ? NewStore::unmarked : NewStore::marked);
  }
  auto held = recover_store(directory.open_store(filter), directory, owner, options, random);
  if (rebuild == Rebuild::no) return held;
  if (held.ok() && !held->recovered.room.ok()) return held->recovered.room;
  if (held.ok() && is_replacement(held->recovered.executor->meta())) {
    log.info("the store was rebuilt already and is sound: it stays");
    return held;
  }
  if (held.ok() && rebuild == Rebuild::what_is_lost &&
      still_counts(held->recovered.executor->meta())) {
    log.info("the store is sound and in sync: it stays");
    return held;
  }
  // Locked, full, or another node's: no reason to move it aside.
  if (!held.ok() && held.status().code() != Code::corrupt) return held;
  const std::string why = held.ok() ? "asked for" : held.status().detail();
  held = Status{Code::cannot_start, "being rebuilt"};  // closes the store
  const auto aside = directory.move_store_aside();
  if (!aside.ok()) return aside.status();
  log.warning("rebuilding the store", {{"why", why}, {"moved_to", aside->string()}});
  return create(NewStore::marked);
}

}  // namespace quipu
