// forgetting_env.h: a disk in memory that forgets, at a power cut, what was not synced.
// LevelDB's threads and clock are the real ones.
//
//   file       one string; the part that was synced survives
//   directory  the names as they are seen, and as they would survive. Every
//              creation, renaming and removal waits in order; a sync of the
//              directory makes all that wait durable. As LevelDB's own Env does, this
//              one also syncs the directory of a file named MANIFEST… before the file.
//
// That is stricter than ext4, XFS or btrfs, where a synced new file keeps its
// name, and as lenient as they are in that names change in order.
//
// A power cut loses everything that waits or, with `Loss::torn`, a random end of it: a prefix of
// the waiting names survives, and some of the unsynced sectors of each file, with zeros in
// place of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/random.h"
#include "storage/leveldb/leveldb_store_env.h"

namespace quipu::test {

class ForgettingEnv final : public StoreEnv {
 public:
  enum class Loss { everything, torn };

  // The one directory that exists from the start.
  static constexpr const char* kRoot = "/disk";

  explicit ForgettingEnv(std::uint64_t seed = 1);
  ~ForgettingEnv() override;

  // From now on, or from the n-th change on, every call fails. Users of open files must be gone
  // before the power comes back.
  void power_off();
  void power_off_after(std::uint64_t changes);
  void power_on(Loss loss = Loss::everything);

  // The most bytes in all files together. An append writes what still fits. Nothing: no limit.
  void set_capacity(std::optional<std::uint64_t> bytes);
  [[nodiscard]] std::uint64_t used() const;
  // Every sync fails with this text of an errno. Empty: syncs work.
  void fail_syncs(std::string error);
  // Files for random reads cannot be opened, with that text of an errno.
  void refuse_reads(std::string error);
  // Syncs return ok and do nothing: plants the bug that the suite must find.
  void swallow_syncs() { swallowing_ = true; }

  // The names in a directory with this ending, sorted.
  [[nodiscard]] std::vector<std::string> files(const std::string& directory,
                                               std::string_view ending) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  // Changes a file directly, and durably.
  void damage(const std::string& name, const std::function<void(std::string&)>& how);

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** out) override;
  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** out) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** out) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** out) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  leveldb::Status GetFileSize(const std::string& name, std::uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status sync_directory(const std::string& directory) override;
  std::error_code lock(const std::string& name, leveldb::FileLock** held) override;
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** out) override;
  void SleepForMicroseconds(int micros) override;

 private:
  struct Inode;
  using InodePointer = std::shared_ptr<Inode>;
  using Names = std::map<std::string, InodePointer>;
  // The effect of one call on names, all or nothing. null: the name goes.
  using Change = std::vector<std::pair<std::string, InodePointer>>;
  class ReadFile;
  class RandomFile;
  class WriteFile;
  class Lock;

  // All of these with the mutex held.
  leveldb::Status begin_change();
  leveldb::Status find(const std::string& name, InodePointer& inode) const;
  void rename(Change change);
  void sync_names(const std::string& directory);
  void tear(Inode& inode);
  [[nodiscard]] std::uint64_t used_locked() const;

  leveldb::Status append(Inode& inode, const std::string& name, std::string_view bytes);
  leveldb::Status sync(Inode& inode, const std::string& name);
  leveldb::Status read(const Inode& inode, std::uint64_t at, std::size_t length, char* to,
                       leveldb::Slice* result) const;

  mutable std::mutex mutex_;
  Random random_;
  bool on_ = true;
  bool swallowing_ = false;
  std::optional<std::uint64_t> changes_left_;
  std::optional<std::uint64_t> capacity_;
  std::string sync_error_;
  std::string read_error_;
  Names seen_;
  Names durable_;
  std::vector<Change> waiting_;
  std::set<std::string> locks_;
};

}  // namespace quipu::test
