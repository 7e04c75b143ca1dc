// memory_store.h: a simulated disk: one map of what would survive a power loss now, and the
// writes in flight. For simulation and tests.
#pragma once

#include <map>
#include <string>

#include "storage/store.h"

namespace quipu {

// The bytes on the platter. They outlive the MemoryStore that is open on them, as a disk
// outlives a process.
struct MemoryDisk {
  std::map<std::string, std::string, std::less<>> durable;
  enum class Fault { none, full, failed_sync } fault = Fault::none;
  bool sync = true;  // false plants the bug that the contract suite must find
};

class MemoryStore final : public Store {
 public:
  // `disk` must outlive the store.
  explicit MemoryStore(MemoryDisk& disk) : disk_(disk) {
    if (!disk.sync) seen_ = disk.durable;
  }

  Status write(const Batch& batch) override;
  Result<std::optional<std::string>> read(std::string_view key) override;
  Status scan(std::string_view from, std::string_view to, const Visit& visit) override;

 private:
  MemoryDisk& disk_;
  std::map<std::string, std::string, std::less<>> seen_;  // used if nothing is synced
  bool failed_ = false;
};

}  // namespace quipu
