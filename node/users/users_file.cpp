#include "node/users/users_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "node/base/start_thread.h"

namespace quipu {

Result<std::shared_ptr<const Users>> read_users_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status(Code::invalid_argument, "the users file " + path + " cannot be read (" +
                                              std::strerror(errno) +
                                              "): make it with quipu user new, and let the node's "
                                              "user read it");
  std::string text(kMaxUsersFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.size() > kMaxUsersFile)
    return Status(Code::invalid_argument,
                  "the users file " + path + " cannot be read, or has more than 16 MiB");
  return Users::parse(text, path);
}

Result<std::unique_ptr<UsersFile>> UsersFile::open(std::string path, const Log& log,
                                                   OnUsers on_users) {
  std::unique_ptr<UsersFile> file(new UsersFile(std::move(path), log, std::move(on_users)));
  if (Status read = file->read(); !read.ok()) return read;
  file->thread_ = start_thread("quipu-users", [whole = file.get()] { whole->run(); });
  return file;
}

UsersFile::UsersFile(std::string path, const Log& log, OnUsers on_users)
    : path_(std::move(path)), log_(log), on_users_(std::move(on_users)) {}

UsersFile::~UsersFile() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const Users> UsersFile::users() const {
  const std::lock_guard lock(mutex_);
  return users_;
}

// All zero: there is no such file.
UsersFile::Stamp UsersFile::stamp() const {
  struct stat file {};
  if (::stat(path_.c_str(), &file) != 0) return {};
  return {.device = file.st_dev,
          .inode = file.st_ino,
          .size = static_cast<std::uint64_t>(file.st_size),
          .seconds = file.st_mtim.tv_sec,
          .nanoseconds = file.st_mtim.tv_nsec};
}

void UsersFile::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLook, [this] { return ending_; })) {
    lock.unlock();
    {
      const std::lock_guard one_at_a_time(reading_);
      if (stamp() != read_) (void)read();
    }
    lock.lock();
  }
}

Status UsersFile::read_again() {
  const std::lock_guard one_at_a_time(reading_);
  return read();
}

// The stamp is taken first: a change meanwhile is seen at the next look.
Status UsersFile::read() {
  const LogField audit{"audit", "true"};
  read_ = stamp();
  const auto read = read_users_file(path_);
  if (!read.ok()) {
    ++refused_;
    log_.error("the users file was refused, and the users stay as they are",
               {audit, {"why", read.status().detail()}});
    return read.status();
  }
  const std::shared_ptr<const Users>& users = *read;
  {
    const std::lock_guard lock(mutex_);
    const bool same = users_ != nullptr && users_->digest() == users->digest();
    users_ = users;
    if (same) return {};
  }
  log_.info("users were read",
            {audit, {"users", std::to_string(users->size())}, {"digest", users->digest()}});
  on_users_(users);
  return {};
}

}  // namespace quipu
