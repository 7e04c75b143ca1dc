#include "storage/leveldb/leveldb_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

leveldb::Status error_of(const std::string& name, int error) {
  const std::string text = std::generic_category().message(error);
  if (error == ENOENT) return leveldb::Status::NotFound(name, text);
  return leveldb::Status::IOError(name, text);
}

class Table final : public leveldb::RandomAccessFile {
 public:
  Table(std::string name, int file) : name_(std::move(name)), file_(file) {}
  ~Table() override { ::close(file_); }

  // Fewer than requested at the end of the file.
  leveldb::Status Read(std::uint64_t offset, std::size_t size, leveldb::Slice* result,
                       char* scratch) const override {
    std::size_t read = 0;
    while (read < size) {
      const ssize_t some =
          ::pread(file_, scratch + read, size - read, static_cast<off_t>(offset + read));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) return error_of(name_, errno);
      if (some == 0) break;
      read += static_cast<std::size_t>(some);
    }
    *result = leveldb::Slice(scratch, read);
    return {};
  }

 private:
  const std::string name_;
  const int file_;
};

leveldb::Status write_at(const std::string& name, int file, std::size_t at,
                         std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t some = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) return error_of(name, errno);
    at += static_cast<std::size_t>(some);
    bytes.remove_prefix(static_cast<std::size_t>(some));
  }
  return {};
}

// | records … | zeros, most of them on the disk already | end of the file
//           at_                                   prepared_
class Log final : public leveldb::WritableFile {
 public:
  Log(std::string name, int file) : name_(std::move(name)), file_(file) {}
  ~Log() override { Close(); }

  leveldb::Status Append(const leveldb::Slice& data) override {
    QUIPU_CHECK(file_ >= 0, "nothing is written to a log that was closed", data.size());
    waiting_.append(data.data(), data.size());
    return {};
  }

  // Called for each piece of a record, of at most 32 KiB.
  leveldb::Status Flush() override {
    leveldb::Status status = write_at(name_, file_, at_, waiting_);
    at_ += waiting_.size();
    waiting_.clear();
    return status;
  }

  leveldb::Status Sync() override {
    leveldb::Status status = Flush();
    if (!status.ok()) return status;
    prepare();
    synced_ = at_;
    return ::fdatasync(file_) == 0 ? leveldb::Status() : error_of(name_, errno);
  }

  leveldb::Status Close() override {
    if (file_ < 0) return {};
    leveldb::Status status = Flush();
    if (::close(std::exchange(file_, -1)) != 0 && status.ok()) status = error_of(name_, errno);
    return status;
  }

 private:
  // Zeros are worth it for records up to this size. For larger ones, writing twice costs more
  // than it saves.
  static constexpr std::size_t kSmall = std::size_t{64} << 10;
  static constexpr std::size_t kPrepared = 4 * kSmall;

  // If there is no room for zeros, records do without.
  void prepare() {
    QUIPU_CHECK(at_ >= synced_, "only what was written was synced", at_, synced_);
    if (at_ <= prepared_ || at_ - synced_ > kSmall) return;
    (void)write_at(name_, file_, at_, std::string(kPrepared, '\0'));
    prepared_ = at_ + kPrepared;
  }

  const std::string name_;
  int file_;
  std::string waiting_;
  std::size_t at_ = 0;
  std::size_t synced_ = 0;
  std::size_t prepared_ = 0;
};

// Closed, the file is unlocked, unless a child of fork() has it too.
class HeldLock final : public leveldb::FileLock {
 public:
  explicit HeldLock(int file) : file_(file) {}
  ~HeldLock() override { ::close(file_); }

  // Also unlocks; 0, or the errno.
  [[nodiscard]] int set(short type) const {
    struct flock whole = {};
    whole.l_type = type;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file_, F_OFD_SETLK, &whole) == 0) return 0;
    // A file system or kernel that lacks these locks has the older ones, of the process.
    if (errno != EINVAL) return errno;
    return ::fcntl(file_, F_SETLK, &whole) == 0 ? 0 : errno;
  }

 private:
  const int file_;
};

class Files final : public StoreEnv {
 public:
  Files() : StoreEnv(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override {
    *file = nullptr;
    const int opened = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return error_of(name, errno);
    *file = new Table(name, opened);
    return {};
  }

  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override {
    if (!name.ends_with(".log")) return target()->NewWritableFile(name, file);
    *file = nullptr;
    const int opened = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (opened < 0) return error_of(name, errno);
    *file = new Log(name, opened);
    return {};
  }

  leveldb::Status sync_directory(const std::string& directory) override {
    const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) return error_of(directory, errno);
    const int error = ::fsync(opened) == 0 ? 0 : errno;
    ::close(opened);
    return error == 0 ? leveldb::Status() : error_of(directory, error);
  }

  std::error_code lock(const std::string& file, leveldb::FileLock** held) override {
    *held = nullptr;
    const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (opened < 0) return {errno, std::generic_category()};
    auto taken = std::make_unique<HeldLock>(opened);
    if (const int error = taken->set(F_WRLCK); error != 0) return {error, std::generic_category()};
    *held = taken.release();
    return {};
  }

  leveldb::Status LockFile(const std::string& file, leveldb::FileLock** held) override {
    const std::error_code error = lock(file, held);
    return error ? error_of("lock " + file, error.value()) : leveldb::Status();
  }

  leveldb::Status UnlockFile(leveldb::FileLock* held) override {
    const std::unique_ptr<HeldLock> ours(static_cast<HeldLock*>(held));
    const int error = ours->set(F_UNLCK);
    return error == 0 ? leveldb::Status() : error_of("unlock", error);
  }
};

}  // namespace

// Never destroyed, as the one that it stands on.
StoreEnv& leveldb_files() {
  static Files& files = *new Files;
  return files;
}

}  // namespace quipu
