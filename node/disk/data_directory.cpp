#include "node/disk/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "storage/leveldb/leveldb_store.h"

namespace quipu {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFileMode = 0644;  // like LevelDB's files, less the umask

// By the cause, as far as the system reports it.
const char* what_to_do(const std::error_code& error) {
  switch (error.value()) {
    case EACCES:
    case EPERM:
      return "give this user the rights, or name another directory";
    case ENOSPC:
    case EDQUOT:
      return "make room, or name another directory";
    case EROFS:
      return "mount that file system for writing, or name another directory";
    case EMFILE:
    case ENFILE:
      return "let this process open more files (ulimit -n)";
    default:
      return "name another directory";
  }
}

Status refuse(const fs::path& path, const std::error_code& error) {
  const bool full = error.value() == ENOSPC || error.value() == EDQUOT;
  return {full ? Code::storage_full : Code::cannot_start,
          "cannot write to " + path.string() + ": " + error.message() + ": " + what_to_do(error)};
}

std::error_code last_error() { return {errno, std::generic_category()}; }

// So that created and removed names survive a power loss.
Status sync(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  if (file < 0) return refuse(path, last_error());
  const bool synced = ::fsync(file) == 0;
  const std::error_code error = last_error();
  ::close(file);
  return synced ? Status() : refuse(path, error);
}

Status sync_directory(const fs::path& path) { return sync(path, O_RDONLY | O_DIRECTORY); }

Status make_directory(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  fs::create_directories(path, error);
  if (error) return refuse(path, error);
  const fs::path parent = fs::absolute(path, error).parent_path();
  return sync_directory(parent);
}

fs::path marker(const fs::path& path) { return path / "held-a-store"; }

Status write_marker(const fs::path& path) {
  std::error_code error;
  if (fs::exists(marker(path), error)) return {};
  if (Status created = sync(marker(path), O_WRONLY | O_CREAT); !created.ok()) return created;
  return sync_directory(path);
}

// The settings of a node with the most possible members. More is not read.
constexpr std::size_t kMaxRemembered = std::size_t{1} << 20;

Status write_file(const fs::path& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (file < 0) return refuse(path, last_error());
  bool written = true;
  while (written && !text.empty()) {
    const ssize_t some = ::write(file, text.data(), text.size());
    written = some > 0;
    if (written) text.remove_prefix(static_cast<std::size_t>(some));
  }
  written = written && ::fsync(file) == 0;
  const std::error_code error = last_error();
  ::close(file);
  return written ? Status() : refuse(path, error);
}

// `path`, or the nearest existing directory above it.
fs::path existing(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

Status move_durably(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return refuse(from, error);
  return sync_directory(to.parent_path());
}

// The holder wrote its process id behind its lock.
std::string describe_holder(int lock) {
  std::array<char, 16> text{};
  const ssize_t length = ::pread(lock, text.data(), text.size(), 0);
  if (length <= 0) return "another process";
  const std::string id(text.data(), static_cast<std::size_t>(length));
  return "process " + id.substr(0, id.find('\n'));
}

// Only for people, so it may fail.
void write_holder(int lock) {
  const std::string id = std::to_string(::getpid()) + "\n";
  [[maybe_unused]] const bool written =
      ::ftruncate(lock, 0) == 0 && ::pwrite(lock, id.data(), id.size(), 0) > 0;
}

}  // namespace

Result<DataDirectory> DataDirectory::lock(const fs::path& path) {
  if (Status created = make_directory(path); !created.ok()) return created;
  const int lock = ::open((path / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (lock < 0) return refuse(path, last_error());
  // Not fcntl: its locks do not keep two nodes of one process apart.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = describe_holder(lock);
    ::close(lock);
    return {Code::cannot_start, path.string() + " is in use by " + holder +
                                    ": stop that one, or name another directory"};
  }
  write_holder(lock);
  DataDirectory directory(path, lock);
  std::error_code error;
  fs::remove_all(path / "store.new", error);
  if (error) return refuse(path / "store.new", error);
  return directory;
}

// Rights alone are not enough: some system directories allow no new files at all.
Status DataDirectory::check(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error).lexically_normal();
  const fs::path above = existing(whole / "");
  std::string probe = (above / ("quipu-check-" + std::string(6, 'X'))).string();
  if (::mkdtemp(probe.data()) == nullptr) return refuse(path, last_error());
  ::rmdir(probe.c_str());
  return {};
}

std::string DataDirectory::remembered(const fs::path& path) {
  std::ifstream in(marker(path), std::ios::binary);
  std::string text(kMaxRemembered, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return text;
}

// By a renaming, so that there is always one.
Status DataDirectory::remember(const std::string& settings) const {
  if (remembered(path_) == settings) return {};
  const fs::path fresh = path_ / "held-a-store.new";
  if (Status written = write_file(fresh, settings); !written.ok()) return written;
  return move_durably(fresh, marker(path_));
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

bool DataDirectory::held_store() const {
  std::error_code error;
  return fs::exists(marker(path_), error) || leveldb_exists(store());
}

Result<std::unique_ptr<Store>> DataDirectory::open_store(bool filter) const {
  if (!leveldb_exists(store())) {
    return {Code::corrupt, path_.string() + " held a store, and " + store().string() +
                               " is gone: put it back if it was moved"};
  }
  // Missing only if the process ended between the rename and this file.
  if (Status marked = write_marker(path_); !marked.ok()) return marked;
  return open_leveldb(
      {.directory = store(), .open = LevelDbOptions::Open::existing, .filter = filter});
}

Result<std::unique_ptr<Store>> DataDirectory::create_store(const Meta& meta, bool filter) const {
  const fs::path fresh = path_ / "store.new";
  {
    auto created = open_leveldb({.directory = fresh, .open = LevelDbOptions::Open::create});
    if (!created.ok()) return created.status();
    if (Status written = initialize(**created, meta); !written.ok()) return written;
  }
  if (Status moved = move_durably(fresh, store()); !moved.ok()) return moved;
  return open_store(filter);
}

Result<fs::path> DataDirectory::move_store_aside() const {
  std::error_code error;
  if (!fs::exists(store(), error)) return fs::path();
  for (int n = 1;; ++n) {
    const fs::path aside = path_ / ("store.broken-" + std::to_string(n));
    if (fs::exists(aside, error)) continue;
    if (Status moved = move_durably(store(), aside); !moved.ok()) return moved;
    return aside;
  }
}

}  // namespace quipu
