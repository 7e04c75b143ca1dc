// store.h: the contract of a disk.
//
// One thread calls it (the storage thread). There is one kind of write: a batch that is
// atomic and *durable when it returns*. Two implementations pass the same suite
// (tests/storage/store_contract_test.cpp): leveldb_store for real, and memory_store, which
// simulates crashes for the simulator.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/status.h"

namespace quipu {

// Puts are applied before deletes. A batch has a key at most once.
struct Batch {
  struct Put {
    std::string key;
    std::string value;
  };
  std::vector<Put> puts;
  std::vector<std::string> deletes;

  [[nodiscard]] bool empty() const { return puts.empty() && deletes.empty(); }
  [[nodiscard]] std::size_t bytes() const;
  // Appends `other` to this batch.
  void append(Batch&& other);
};

// The most files that a store has open at once.
inline constexpr std::size_t kMaxStoreFiles = 400;

class Store {
 public:
  virtual ~Store() = default;

  // ok: all of it is durable. storage_full: none of it is visible, and the same batch may be
  // written again (the store recovers itself first). Two errors are final, and the effect of the
  // batch is unknown: storage_failed (a sync failed) and corrupt (damage was found; the status
  // names the file).
  virtual Status write(const Batch& batch) = 0;

  // The value of that key, if there is one. Works on a full disk, too.
  virtual Result<std::optional<std::string>> read(std::string_view key) = 0;

  // Visits every key in [from, to) in byte order. Stops at, and returns, the first status of
  // `visit` that is not ok. corrupt: damage; the status names the file.
  using Visit = std::function<Status(std::string_view key, std::string_view value)>;
  virtual Status scan(std::string_view from, std::string_view to, const Visit& visit) = 0;
};

}  // namespace quipu
