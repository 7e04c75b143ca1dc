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

#include <leveldb/env.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quipu {

class ScratchEnv final : public leveldb::EnvWrapper {
 public:
  // `base` must outlive it.
  ScratchEnv(leveldb::Env& base, std::size_t room) : EnvWrapper(&base), room_(room) {}

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

  mutable std::mutex mutex_;
  std::size_t room_;
  std::map<std::string, Bytes> files_;  // null: removed
};

}  // namespace quipu
