// leveldb_env.h: the Env under which a store runs LevelDB.
//
// It closes three gaps. Each of them lost acknowledged writes:
//   * A file's first error stays. LevelDB ignores the error of some appends, and would
//     write on behind a hole.
//   * A failed sync can be told apart from a failed write, also by code that sees only
//     LevelDB's own status. A failed sync is for ever.
//   * A new log's *name* is made durable before a byte is written to it. LevelDB syncs the
//     directory with the MANIFEST alone, so a power cut could take a synced log away.
// Threads: any, as LevelDB requires of an Env.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <string>
#include <system_error>

#include "protocol/check.h"
#include "quipu/status.h"
#include "storage/leveldb/leveldb_store_env.h"

namespace quipu {

class LevelDbEnv final : public StoreEnv {
 public:
  // `base` must outlive it.
  explicit LevelDbEnv(StoreEnv& base) : StoreEnv(&base), base_(base) {}
  ~LevelDbEnv() override;

  // Takes the lock of a database ahead of LevelDB, which then inherits it, so that
  // what was checked under it is what is opened. Once at most.
  std::error_code lock(const std::string& file) {
    QUIPU_CHECK(held_ == nullptr, "a database is locked once");
    return base_.lock(file, &held_);
  }

  [[nodiscard]] bool sync_failed() const { return sync_failed_; }

  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status LockFile(const std::string& file, leveldb::FileLock** lock) override;
  leveldb::Status sync_directory(const std::string& directory) override;
  std::error_code lock(const std::string& file, leveldb::FileLock** held) override {
    return base_.lock(file, held);
  }

 private:
  class StickyFile;

  StoreEnv& base_;
  leveldb::FileLock* held_ = nullptr;
  std::atomic<bool> sync_failed_ = false;
};

[[nodiscard]] bool is_out_of_space(const leveldb::Status& status);
// Fails for want of descriptors, memory or permission: not damage.
[[nodiscard]] bool is_refused(const leveldb::Status& status);

// `otherwise` is the code for all but lack of space and corruption.
Status to_status(const leveldb::Status& status, Code otherwise);

}  // namespace quipu
