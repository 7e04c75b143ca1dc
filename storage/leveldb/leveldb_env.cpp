#include "storage/leveldb/leveldb_env.h"

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

namespace quipu {

class LevelDbEnv::StickyFile final : public leveldb::WritableFile {
 public:
  StickyFile(LevelDbEnv& env, leveldb::WritableFile* file) : env_(env), file_(file) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    if (first_error_.ok()) first_error_ = file_->Append(data);
    return first_error_;
  }

  leveldb::Status Flush() override {
    if (first_error_.ok()) first_error_ = file_->Flush();
    return first_error_;
  }

  // Flush first: LevelDB's own Sync also writes its buffer, and a full disk at that point is not
  // a failed sync yet.
  leveldb::Status Sync() override {
    if (!Flush().ok()) return first_error_;
    first_error_ = file_->Sync();
    if (!first_error_.ok()) env_.sync_failed_ = true;
    return first_error_;
  }

  leveldb::Status Close() override {
    const leveldb::Status closed = file_->Close();
    if (first_error_.ok()) first_error_ = closed;
    return first_error_;
  }

 private:
  LevelDbEnv& env_;
  std::unique_ptr<leveldb::WritableFile> file_;
  leveldb::Status first_error_;
};

LevelDbEnv::~LevelDbEnv() {
  if (held_ != nullptr) target()->UnlockFile(held_);
}

leveldb::Status LevelDbEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = nullptr;
  leveldb::WritableFile* plain = nullptr;
  if (leveldb::Status status = target()->NewWritableFile(name, &plain); !status.ok()) return status;
  auto sticky = std::make_unique<StickyFile>(*this, plain);
  if (name.ends_with(".log")) {
    leveldb::Status status = sync_directory(name.substr(0, name.rfind('/')));
    if (!status.ok()) {
      target()->RemoveFile(name);
      return status;
    }
  }
  *file = sticky.release();
  return {};
}

leveldb::Status LevelDbEnv::LockFile(const std::string& file, leveldb::FileLock** lock) {
  if (held_ == nullptr) return target()->LockFile(file, lock);
  *lock = std::exchange(held_, nullptr);
  return {};
}

leveldb::Status LevelDbEnv::sync_directory(const std::string& directory) {
  leveldb::Status status = base_.sync_directory(directory);
  // If the directory could not be opened, nothing was synced, and nothing is lost.
  if (!status.ok() && !is_refused(status)) sync_failed_ = true;
  return status;
}

namespace {

// LevelDB keeps only the text of an errno.
bool is_one_of(const leveldb::Status& status, std::initializer_list<int> errors) {
  if (!status.IsIOError()) return false;
  const std::string text = status.ToString();
  return std::any_of(errors.begin(), errors.end(), [&text](int error) {
    return text.ends_with(std::generic_category().message(error));
  });
}

}  // namespace

bool is_out_of_space(const leveldb::Status& status) { return is_one_of(status, {ENOSPC, EDQUOT}); }

bool is_refused(const leveldb::Status& status) {
  return is_one_of(status, {EMFILE, ENFILE, ENOMEM, EACCES, EPERM});
}

Status to_status(const leveldb::Status& status, Code otherwise) {
  if (status.ok()) return {};
  if (is_out_of_space(status)) return {Code::storage_full, status.ToString()};
  return {status.IsCorruption() ? Code::corrupt : otherwise, status.ToString()};
}

}  // namespace quipu
