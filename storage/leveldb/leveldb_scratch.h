// leveldb_scratch.h: an Env that reads the files of a directory, and keeps its writes in
// memory.
//
//   read:  scratch, if the file was written or removed here ─ else ─▶ the base
//   write, rename, remove: scratch alone
//
// LevelDB cannot open a database without writing: it makes a table of its log, and a new
// MANIFEST. If the disk has no room for that, this Env lets it open the database for
// reading. The disk does not change at all.
//
// Invariant: the scratch never holds more than `room`. Beyond it, writes fail as on a full
// disk, so a compaction that LevelDB begins by itself stops there.
// Threads: any, as LevelDB requires of an Env.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/leveldb/leveldb_store_env.h"

namespace quipu {

class ScratchEnv final : public StoreEnv {
 public:
  // `base` must outlive it.
  ScratchEnv(StoreEnv& base, std::size_t room) : StoreEnv(&base), base_(base), room_(room) {}

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  // Not needed here, and the base would write.
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  leveldb::Status GetFileSize(const std::string& name, std::uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  // Nothing here is durable.
  leveldb::Status sync_directory(const std::string&) override { return {}; }
  std::error_code lock(const std::string& file, leveldb::FileLock** held) override {
    return base_.lock(file, held);
  }

 private:
  struct File;
  class Writer;
  class SequentialReader;
  class RandomReader;
  using Bytes = std::shared_ptr<File>;

  // The bytes written under that name here. null: removed here. Nothing: ask the base.
  [[nodiscard]] std::optional<Bytes> find(const std::string& name) const;
  [[nodiscard]] bool take_room(std::size_t bytes);
  void give_room_back(const Bytes& file);

  StoreEnv& base_;
  mutable std::mutex mutex_;
  std::size_t room_;
  std::map<std::string, Bytes> files_;  // null: removed
};

}  // namespace quipu
