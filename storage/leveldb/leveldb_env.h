// leveldb_env.h: the Env under which a store runs LevelDB.
//
// It closes three gaps, each of which lost acknowledged writes:
//   * a file's first error sticks: LevelDB ignores the error of some appends and
//     would write on behind a hole
//   * a failed sync is told apart from a failed write, also by who only sees
//     LevelDB's own status: the first is for ever
//   * a new log's *name* is made durable before a byte is written to it: LevelDB
//     syncs the directory with the MANIFEST alone, so a power cut could take a
//     synced log away
//
// Threads: any, as LevelDB demands of an Env.
#pragma once

#include <leveldb/env.h>

#include <atomic>
#include <string>

#include "quipu/status.h"

namespace quipu {

class LevelDbEnv final : public leveldb::EnvWrapper {
 public:
  // `base` must outlive it.
  explicit LevelDbEnv(leveldb::Env& base) : EnvWrapper(&base) {}
  ~LevelDbEnv() override;

  // Takes the lock of a database ahead of LevelDB, which then inherits it, so that
  // what was checked under it is what is opened. Once at most.
  leveldb::Status lock(const std::string& file) { return target()->LockFile(file, &held_); }

  [[nodiscard]] bool sync_failed() const { return sync_failed_; }

  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status LockFile(const std::string& file, leveldb::FileLock** lock) override;

 private:
  class StickyFile;

  leveldb::FileLock* held_ = nullptr;
  std::atomic<bool> sync_failed_ = false;
};

// Makes the names in `directory` durable.
leveldb::Status sync_directory(leveldb::Env& env, const std::string& directory);

[[nodiscard]] bool is_out_of_space(const leveldb::Status& status);
// By the system, for want of descriptors, memory or permission: no damage.
[[nodiscard]] bool is_refused(const leveldb::Status& status);

// `otherwise` stands for what is neither lack of space nor corruption.
Status to_status(const leveldb::Status& status, Code otherwise);

}  // namespace quipu
