#include "node/users/users_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

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
  if (Status read = file->read(true); !read.ok()) return read;
  return file;
}

UsersFile::UsersFile(std::string path, const Log& log, OnUsers on_users)
    : path_(std::move(path)), log_(log), on_users_(std::move(on_users)) {}

std::shared_ptr<const Users> UsersFile::users() const {
  const std::lock_guard lock(mutex_);
  return users_;
}

void UsersFile::look() {
  const std::lock_guard one_at_a_time(reading_);
  if (stamp_of(path_) != read_) (void)read(false);
}

Status UsersFile::read_again() {
  const std::lock_guard one_at_a_time(reading_);
  return read(true);
}

// The stamp is taken first: a change meanwhile is seen at the next look. It counts as read only if
// all is right: what was wrong may be mended without a change of it, such as by chown.
Status UsersFile::read(bool asked) {
  const LogField audit{"audit", "true"};
  const FileStamp found = stamp_of(path_);
  const auto read = read_users_file(path_);
  if (!read.ok()) {
    if (!asked && refusal_ == read.status().detail()) return read.status();
    refusal_ = read.status().detail();
    ++refused_;
    log_.error("the users file was refused, and the users stay as they are",
               {audit, {"why", refusal_}});
    return read.status();
  }
  refusal_.clear();
  read_ = found;
  read_at_ = wall_now();
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
