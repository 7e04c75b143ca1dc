#include "tests/storage/leveldb/forgetting_env.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace quipu::test {
namespace {

constexpr std::size_t kSector = 512;  // what a disk writes whole
constexpr std::size_t kBuffer = 65536;

std::string text(int error) { return std::generic_category().message(error); }

leveldb::Status powerless() { return leveldb::Status::IOError("the power is off"); }

std::string directory_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "." : name.substr(0, slash);
}

std::string base_of(const std::string& name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

// Directories are inodes without data.
struct ForgettingEnv::Inode {
  bool directory = false;
  std::string data;
  std::size_t synced = 0;
};

class ForgettingEnv::ReadFile final : public leveldb::SequentialFile {
 public:
  ReadFile(ForgettingEnv& env, InodePointer inode) : env_(env), inode_(std::move(inode)) {}

  leveldb::Status Read(std::size_t length, leveldb::Slice* result, char* scratch) override {
    leveldb::Status status = env_.read(*inode_, at_, length, scratch, result);
    at_ += result->size();
    return status;
  }

  leveldb::Status Skip(std::uint64_t length) override {
    at_ += length;
    return {};
  }

 private:
  ForgettingEnv& env_;
  InodePointer inode_;
  std::uint64_t at_ = 0;
};

class ForgettingEnv::RandomFile final : public leveldb::RandomAccessFile {
 public:
  RandomFile(const ForgettingEnv& env, InodePointer inode) : env_(env), inode_(std::move(inode)) {}

  leveldb::Status Read(std::uint64_t at, std::size_t length, leveldb::Slice* result,
                       char* scratch) const override {
    return env_.read(*inode_, at, length, scratch, result);
  }

 private:
  const ForgettingEnv& env_;
  InodePointer inode_;
};

// Buffers as LevelDB's own does, which drops what it could not write.
class ForgettingEnv::WriteFile final : public leveldb::WritableFile {
 public:
  WriteFile(ForgettingEnv& env, std::string name, InodePointer inode)
      : env_(env), name_(std::move(name)), inode_(std::move(inode)) {}
  ~WriteFile() override { Flush(); }

  leveldb::Status Append(const leveldb::Slice& data) override {
    buffer_.append(data.data(), data.size());
    return buffer_.size() < kBuffer ? leveldb::Status() : Flush();
  }
  leveldb::Status Close() override { return Flush(); }
  leveldb::Status Flush() override {
    if (buffer_.empty()) return {};
    return env_.append(*inode_, name_, std::exchange(buffer_, {}));
  }
  leveldb::Status Sync() override {
    leveldb::Status status = Flush();
    return status.ok() ? env_.sync(*inode_, name_) : status;
  }

 private:
  ForgettingEnv& env_;
  std::string name_;
  InodePointer inode_;
  std::string buffer_;
};

class ForgettingEnv::Lock final : public leveldb::FileLock {
 public:
  explicit Lock(std::string locked) : name(std::move(locked)) {}
  const std::string name;
};

ForgettingEnv::ForgettingEnv(std::uint64_t seed)
    : StoreEnv(leveldb::Env::Default()), random_(seed) {
  const auto root = std::make_shared<Inode>();
  root->directory = true;
  seen_ = durable_ = {{kRoot, root}};
}

ForgettingEnv::~ForgettingEnv() = default;

// ---- power and faults ----

void ForgettingEnv::power_off() {
  const std::lock_guard lock(mutex_);
  on_ = false;
}

void ForgettingEnv::power_off_after(std::uint64_t changes) {
  const std::lock_guard lock(mutex_);
  changes_left_ = changes;
}

void ForgettingEnv::power_on(Loss loss) {
  const std::lock_guard lock(mutex_);
  if (loss == Loss::torn) {
    const std::uint64_t lasting = random_.below(waiting_.size() + 1);
    waiting_.resize(lasting);
    for (const Change& change : waiting_) {
      for (const auto& [name, inode] : change) durable_[name] = inode;
    }
  }
  waiting_.clear();
  std::erase_if(durable_, [](const auto& entry) { return entry.second == nullptr; });
  for (const auto& [name, inode] : durable_) {
    if (loss == Loss::torn) tear(*inode);
    inode->data.resize(inode->synced);
  }
  // A file is lost with its directory.
  seen_.clear();
  for (const auto& [name, inode] : durable_) {
    if (inode->directory || durable_.contains(directory_of(name))) seen_.insert({name, inode});
  }
  durable_ = seen_;
  locks_.clear();
  changes_left_.reset();
  on_ = true;
}

// Sector by sector, it reached the disk or did not.
void ForgettingEnv::tear(Inode& inode) {
  const std::size_t reached = inode.synced + random_.below(inode.data.size() - inode.synced + 1);
  for (std::size_t at = inode.synced; at < reached;) {
    const std::size_t end = std::min(reached, (at / kSector + 1) * kSector);
    if (random_.below(4) == 0)
      std::fill(inode.data.begin() + static_cast<std::ptrdiff_t>(at),
                inode.data.begin() + static_cast<std::ptrdiff_t>(end), '\0');
    at = end;
  }
  inode.synced = reached;
}

void ForgettingEnv::set_capacity(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::uint64_t ForgettingEnv::used() const {
  const std::lock_guard lock(mutex_);
  return used_locked();
}

std::uint64_t ForgettingEnv::used_locked() const {
  std::uint64_t total = 0;
  for (const auto& [name, inode] : seen_) total += inode->data.size();
  return total;
}

void ForgettingEnv::refuse_reads(std::string error) {
  const std::lock_guard lock(mutex_);
  read_error_ = std::move(error);
}

void ForgettingEnv::fail_syncs(std::string error) {
  const std::lock_guard lock(mutex_);
  sync_error_ = std::move(error);
}

// ---- damage ----

std::vector<std::string> ForgettingEnv::files(const std::string& directory,
                                              std::string_view ending) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (const auto& [name, inode] : seen_) {
    if (directory_of(name) == directory && name.ends_with(ending)) found.push_back(name);
  }
  return found;
}

std::string ForgettingEnv::read(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return seen_.at(name)->data;
}

void ForgettingEnv::damage(const std::string& name, const std::function<void(std::string&)>& how) {
  const std::lock_guard lock(mutex_);
  Inode& inode = *seen_.at(name);
  how(inode.data);
  inode.synced = inode.data.size();
}

// ---- what files do ----

leveldb::Status ForgettingEnv::begin_change() {
  if (changes_left_ && (*changes_left_)-- == 0) {
    changes_left_.reset();
    on_ = false;
  }
  return on_ ? leveldb::Status() : powerless();
}

leveldb::Status ForgettingEnv::append(Inode& inode, const std::string& name,
                                      std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (leveldb::Status status = begin_change(); !status.ok()) return status;
  std::uint64_t fits = bytes.size();
  if (capacity_) fits = std::min(fits, *capacity_ - std::min(*capacity_, used_locked()));
  inode.data += bytes.substr(0, static_cast<std::size_t>(fits));
  return fits == bytes.size() ? leveldb::Status() : leveldb::Status::IOError(name, text(ENOSPC));
}

leveldb::Status ForgettingEnv::sync(Inode& inode, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (leveldb::Status status = begin_change(); !status.ok()) return status;
  if (!sync_error_.empty()) return leveldb::Status::IOError(name, sync_error_);
  if (swallowing_) return {};
  if (base_of(name).starts_with("MANIFEST")) sync_names(directory_of(name));
  inode.synced = inode.data.size();
  return {};
}

leveldb::Status ForgettingEnv::read(const Inode& inode, std::uint64_t at, std::size_t length,
                                    char* to, leveldb::Slice* result) const {
  const std::lock_guard lock(mutex_);
  *result = {};
  if (!on_) return powerless();
  const std::size_t from = std::min<std::size_t>(inode.data.size(), at);
  const std::size_t taken = std::min(length, inode.data.size() - from);
  std::memcpy(to, inode.data.data() + from, taken);
  *result = leveldb::Slice(to, taken);
  return {};
}

// ---- names ----

void ForgettingEnv::rename(Change change) {
  for (const auto& [name, inode] : change) {
    if (inode != nullptr) {
      seen_[name] = inode;
    } else {
      seen_.erase(name);
    }
  }
  waiting_.push_back(std::move(change));
}

void ForgettingEnv::sync_names(const std::string& directory) {
  std::vector<Change> still;
  for (Change& change : waiting_) {
    if (directory_of(change.front().first) != directory) {
      still.push_back(std::move(change));
      continue;
    }
    for (auto& [name, inode] : change) durable_[name] = std::move(inode);
  }
  waiting_ = std::move(still);
}

leveldb::Status ForgettingEnv::find(const std::string& name, InodePointer& inode) const {
  if (!on_) return powerless();
  const auto at = seen_.find(name);
  if (at == seen_.end()) return leveldb::Status::NotFound(name, text(ENOENT));
  inode = at->second;
  return {};
}

leveldb::Status ForgettingEnv::NewSequentialFile(const std::string& name,
                                                 leveldb::SequentialFile** out) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  *out = nullptr;
  leveldb::Status status = find(name, inode);
  if (status.ok()) *out = new ReadFile(*this, std::move(inode));
  return status;
}

leveldb::Status ForgettingEnv::NewRandomAccessFile(const std::string& name,
                                                   leveldb::RandomAccessFile** out) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  *out = nullptr;
  if (!read_error_.empty()) return leveldb::Status::IOError(name, read_error_);
  leveldb::Status status = find(name, inode);
  if (status.ok()) *out = new RandomFile(*this, std::move(inode));
  return status;
}

// An existing file is replaced, not truncated, which no caller can tell apart.
leveldb::Status ForgettingEnv::NewWritableFile(const std::string& name,
                                               leveldb::WritableFile** out) {
  const std::lock_guard lock(mutex_);
  *out = nullptr;
  if (leveldb::Status status = begin_change(); !status.ok()) return status;
  if (!seen_.contains(directory_of(name))) return leveldb::Status::NotFound(name, text(ENOENT));
  if (capacity_ && used_locked() >= *capacity_) return leveldb::Status::IOError(name, text(ENOSPC));
  const auto inode = std::make_shared<Inode>();
  rename({{name, inode}});
  *out = new WriteFile(*this, name, inode);
  return {};
}

leveldb::Status ForgettingEnv::NewAppendableFile(const std::string& name,
                                                 leveldb::WritableFile** out) {
  *out = nullptr;
  return leveldb::Status::NotSupported(name, "no caller appends to an old file");
}

bool ForgettingEnv::FileExists(const std::string& name) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  return find(name, inode).ok();
}

leveldb::Status ForgettingEnv::GetChildren(const std::string& directory,
                                           std::vector<std::string>* names) {
  names->clear();
  {
    const std::lock_guard lock(mutex_);
    InodePointer inode;
    if (leveldb::Status status = find(directory, inode); !status.ok()) return status;
  }
  for (const std::string& name : files(directory, "")) names->push_back(base_of(name));
  return {};
}

leveldb::Status ForgettingEnv::RemoveFile(const std::string& name) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  leveldb::Status status = begin_change();
  if (status.ok()) status = find(name, inode);
  if (status.ok()) rename({{name, nullptr}});
  return status;
}

leveldb::Status ForgettingEnv::CreateDir(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (leveldb::Status status = begin_change(); !status.ok()) return status;
  if (seen_.contains(name)) return leveldb::Status::IOError(name, text(EEXIST));
  const auto inode = std::make_shared<Inode>();
  inode->directory = true;
  rename({{name, inode}});
  return {};
}

leveldb::Status ForgettingEnv::RemoveDir(const std::string& name) { return RemoveFile(name); }

leveldb::Status ForgettingEnv::GetFileSize(const std::string& name, std::uint64_t* size) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  leveldb::Status status = find(name, inode);
  *size = status.ok() ? inode->data.size() : 0;
  return status;
}

leveldb::Status ForgettingEnv::RenameFile(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  leveldb::Status status = begin_change();
  if (status.ok()) status = find(from, inode);
  if (status.ok()) rename({{to, inode}, {from, nullptr}});
  return status;
}

leveldb::Status ForgettingEnv::sync_directory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  InodePointer inode;
  leveldb::Status status = begin_change();
  if (status.ok()) status = find(directory, inode);
  if (!status.ok()) return status;
  if (!sync_error_.empty()) return leveldb::Status::IOError(directory, sync_error_);
  if (!swallowing_) sync_names(directory);
  return {};
}

std::error_code ForgettingEnv::lock(const std::string& name, leveldb::FileLock** held) {
  const std::lock_guard guard(mutex_);
  *held = nullptr;
  if (!on_) return std::make_error_code(std::errc::io_error);
  if (!seen_.contains(directory_of(name)))
    return std::make_error_code(std::errc::no_such_file_or_directory);
  if (!locks_.insert(name).second)
    return std::make_error_code(std::errc::resource_unavailable_try_again);
  *held = new Lock(name);
  return {};
}

leveldb::Status ForgettingEnv::LockFile(const std::string& name, leveldb::FileLock** held) {
  const std::error_code error = lock(name, held);
  return error ? leveldb::Status::IOError("lock " + name, error.message()) : leveldb::Status();
}

leveldb::Status ForgettingEnv::UnlockFile(leveldb::FileLock* lock) {
  const std::lock_guard guard(mutex_);
  const std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
  locks_.erase(held->name);
  return {};
}

leveldb::Status ForgettingEnv::NewLogger(const std::string& name, leveldb::Logger** out) {
  *out = nullptr;
  return leveldb::Status::NotSupported(name, "the store keeps LevelDB silent");
}

// LevelDB slows writers down to spare a real disk.
void ForgettingEnv::SleepForMicroseconds(int) { std::this_thread::yield(); }

}  // namespace quipu::test
