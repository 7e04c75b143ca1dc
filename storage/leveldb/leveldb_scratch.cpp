#include "storage/leveldb/leveldb_scratch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace quipu {
namespace {

leveldb::Status no_room(const std::string& name) {
  return leveldb::Status::IOError(name, std::generic_category().message(ENOSPC));
}

leveldb::Status read_only(const std::string& name) {
  return leveldb::Status::IOError(name, std::generic_category().message(EROFS));
}

leveldb::Status missing(const std::string& name) {
  return leveldb::Status::NotFound(name, std::generic_category().message(ENOENT));
}

}  // namespace

// If it is renamed or removed while open, it goes on for its users, as a file does.
struct ScratchEnv::File {
  std::mutex mutex;
  std::string bytes;

  // At most `size` bytes from `at` on, copied to `to`.
  std::size_t read(std::size_t at, std::size_t size, char* to) {
    const std::lock_guard lock(mutex);
    if (at >= bytes.size()) return 0;
    const std::size_t some = std::min(size, bytes.size() - at);
    std::memcpy(to, bytes.data() + at, some);
    return some;
  }
};

class ScratchEnv::Writer final : public leveldb::WritableFile {
 public:
  Writer(ScratchEnv& env, std::string name, Bytes file)
      : env_(env), name_(std::move(name)), file_(std::move(file)) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    if (!env_.take_room(data.size())) return no_room(name_);
    const std::lock_guard lock(file_->mutex);
    file_->bytes.append(data.data(), data.size());
    return {};
  }
  leveldb::Status Close() override { return {}; }
  leveldb::Status Flush() override { return {}; }
  leveldb::Status Sync() override { return {}; }

 private:
  ScratchEnv& env_;
  const std::string name_;
  const Bytes file_;
};

class ScratchEnv::SequentialReader final : public leveldb::SequentialFile {
 public:
  explicit SequentialReader(Bytes file) : file_(std::move(file)) {}

  leveldb::Status Read(std::size_t size, leveldb::Slice* result, char* scratch) override {
    const std::size_t read = file_->read(at_, size, scratch);
    at_ += read;
    *result = leveldb::Slice(scratch, read);
    return {};
  }
  leveldb::Status Skip(std::uint64_t bytes) override {
    at_ += bytes;
    return {};
  }

 private:
  const Bytes file_;
  std::size_t at_ = 0;
};

class ScratchEnv::RandomReader final : public leveldb::RandomAccessFile {
 public:
  explicit RandomReader(Bytes file) : file_(std::move(file)) {}

  leveldb::Status Read(std::uint64_t offset, std::size_t size, leveldb::Slice* result,
                       char* scratch) const override {
    *result = leveldb::Slice(scratch, file_->read(offset, size, scratch));
    return {};
  }

 private:
  const Bytes file_;
};

std::optional<ScratchEnv::Bytes> ScratchEnv::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = files_.find(name);
  return at == files_.end() ? std::nullopt : std::optional(at->second);
}

bool ScratchEnv::take_room(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > room_) return false;
  room_ -= bytes;
  return true;
}

// REQUIRES: mutex_ is held, and the file is not written any more.
void ScratchEnv::give_room_back(const Bytes& file) {
  if (file == nullptr) return;
  const std::lock_guard lock(file->mutex);
  room_ += file->bytes.size();
}

leveldb::Status ScratchEnv::NewSequentialFile(const std::string& name,
                                              leveldb::SequentialFile** file) {
  *file = nullptr;
  const std::optional<Bytes> found = find(name);
  if (!found) return target()->NewSequentialFile(name, file);
  if (*found == nullptr) return missing(name);
  *file = new SequentialReader(*found);
  return {};
}

leveldb::Status ScratchEnv::NewRandomAccessFile(const std::string& name,
                                                leveldb::RandomAccessFile** file) {
  *file = nullptr;
  const std::optional<Bytes> found = find(name);
  if (!found) return target()->NewRandomAccessFile(name, file);
  if (*found == nullptr) return missing(name);
  *file = new RandomReader(*found);
  return {};
}

leveldb::Status ScratchEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  const std::lock_guard lock(mutex_);
  Bytes& fresh = files_[name];
  give_room_back(fresh);
  fresh = std::make_shared<File>();
  *file = new Writer(*this, name, fresh);
  return {};
}

leveldb::Status ScratchEnv::NewAppendableFile(const std::string& name,
                                              leveldb::WritableFile** file) {
  *file = nullptr;
  return read_only(name);
}

bool ScratchEnv::FileExists(const std::string& name) {
  const std::optional<Bytes> found = find(name);
  return found ? *found != nullptr : target()->FileExists(name);
}

leveldb::Status ScratchEnv::GetChildren(const std::string& directory,
                                        std::vector<std::string>* names) {
  const leveldb::Status listed = target()->GetChildren(directory, names);
  if (!listed.ok()) return listed;
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    const std::size_t slash = path.rfind('/');
    if (path.compare(0, slash, directory) != 0) continue;
    const std::string name = path.substr(slash + 1);
    std::erase(*names, name);
    if (file != nullptr) names->push_back(name);
  }
  return {};
}

leveldb::Status ScratchEnv::RemoveFile(const std::string& name) {
  if (!FileExists(name)) return missing(name);
  const std::lock_guard lock(mutex_);
  give_room_back(std::exchange(files_[name], nullptr));
  return {};
}

leveldb::Status ScratchEnv::CreateDir(const std::string& name) {
  return target()->FileExists(name) ? leveldb::Status() : read_only(name);
}

leveldb::Status ScratchEnv::RemoveDir(const std::string& name) { return read_only(name); }

leveldb::Status ScratchEnv::GetFileSize(const std::string& name, std::uint64_t* size) {
  const std::optional<Bytes> found = find(name);
  if (!found) return target()->GetFileSize(name, size);
  if (*found == nullptr) return missing(name);
  const std::lock_guard lock((*found)->mutex);
  *size = (*found)->bytes.size();
  return {};
}

// LevelDB renames only files that were written here.
leveldb::Status ScratchEnv::RenameFile(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto at = files_.find(from);
  if (at == files_.end()) return read_only(from);
  if (at->second == nullptr) return missing(from);
  const Bytes moved = std::exchange(at->second, nullptr);
  give_room_back(std::exchange(files_[to], moved));
  return {};
}

}  // namespace quipu
