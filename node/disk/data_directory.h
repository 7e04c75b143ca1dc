// data_directory.h: the content of a node's data directory, and its lock.
//
//   lock              flock()ed while a node runs; holds its process id
//   held-a-store      says that a store was here, so that its loss is noticed; and with which
//                     settings it was last used (store_settings.h)
//   store/            the store
//   store.new/        a store that is being created: not used yet, deleted at the next start
//   store.broken-<n>/ moved aside by a rebuild; only for people
//
// Invariant: store/ appears complete, by a rename, and held-a-store right after it. A directory
// that held a store never silently gets a new one: an empty node under an old name would be
// part of quorums and know nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "node/base/log.h"
#include "storage/recovery.h"
#include "storage/store.h"

namespace quipu {

// Holds the lock while it lives.
class DataDirectory {
 public:
  // Creates it if missing. cannot_start: in use (by which process, if known), or not writable.
  // storage_full.
  [[nodiscard]] static Result<DataDirectory> lock(const std::filesystem::path& path);
  // Whether lock() could create or use it, ignoring the lock itself. Leaves nothing behind.
  [[nodiscard]] static Status check(const std::filesystem::path& path);
  // What remember() wrote last. Empty: nothing.
  [[nodiscard]] static std::string remembered(const std::filesystem::path& path);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  ~DataDirectory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path store() const { return path_ / "store"; }
  // Whether there is a store, or should be one.
  [[nodiscard]] bool held_store() const;
  // cannot_start, corrupt, storage_full.
  // `filter`: see LevelDbOptions.
  [[nodiscard]] Result<std::unique_ptr<Store>> open_store(bool filter) const;
  // REQUIRES: there is no store/.
  [[nodiscard]] Result<std::unique_ptr<Store>> create_store(const Meta& meta, bool filter) const;
  // Stores the settings that the store was opened with. REQUIRES: held_store()
  Status remember(const std::string& settings) const;
  // The new place of store/. Empty: there was none.
  [[nodiscard]] Result<std::filesystem::path> move_store_aside() const;

 private:
  DataDirectory(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;  // descriptor; -1: moved from
};

struct Recovered {
  std::unique_ptr<Executor> executor;
  // storage_full: there is no room for a start, so the executor is for reads only.
  Status room{};
};
struct RecoveredStore {
  std::unique_ptr<Store> store;
  Recovered recovered;
};

// Calls recover(), or without room for that, recover_for_reads().
[[nodiscard]] Result<Recovered> recover_or_read(Store& store, const StoreOwner& owner,
                                                const ExecutorOptions& options, Random& random);

// `rebuild`: a store that is missing, damaged, or no longer trusted by the peers is moved aside,
// and a marked new one takes its place. A sound marked store stays until it is replaced
// itself, so an option left in a service file does no harm. `what_is_lost`: the same, but a
// sound store in sync stays, since with several stores the operator cannot choose one.
enum class Rebuild : std::uint8_t { no, yes, what_is_lost };

// From a directory to an executor. cannot_start: another cluster's or node's store.
// storage_full: no room to create or rebuild one.
[[nodiscard]] Result<RecoveredStore> recover_directory(const DataDirectory& directory,
                                                       const StoreOwner& owner,
                                                       const ExecutorOptions& options,
                                                       Rebuild rebuild, Random& random,
                                                       const Log& log);

}  // namespace quipu
