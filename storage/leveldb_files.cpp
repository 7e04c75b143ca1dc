#include "storage/leveldb_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

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

  // Less than asked for at the end of the file.
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

class Files final : public leveldb::EnvWrapper {
 public:
  Files() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override {
    *file = nullptr;
    const int opened = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0) return error_of(name, errno);
    *file = new Table(name, opened);
    return {};
  }
};

}  // namespace

// Never destroyed, as the one that it stands on.
leveldb::Env& leveldb_files() {
  static Files& files = *new Files;
  return files;
}

}  // namespace quipu
