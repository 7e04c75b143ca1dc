// users_file.h: the users file on disk.
//
//   file ──look(), if its stamp changed, or read_again()──▶ Users ──▶ on_users
//     └── it does not parse: logged and counted, and the users stay as they are
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "node/base/clock.h"
#include "node/base/file_stamp.h"
#include "node/base/log.h"
#include "node/users/users.h"

namespace quipu {

// invalid_argument: names the file and what to do.
[[nodiscard]] Result<std::shared_ptr<const Users>> read_users_file(const std::string& path);

class UsersFile {
 public:
  // On the thread that has read them.
  using OnUsers = std::function<void(std::shared_ptr<const Users>)>;

  // The error is that of read_users_file().
  [[nodiscard]] static Result<std::unique_ptr<UsersFile>> open(std::string path, const Log& log,
                                                               OnUsers on_users);

  [[nodiscard]] std::shared_ptr<const Users> users() const;
  // Reads it again if it has changed.
  void look();
  // Whatever its stamp says.
  Status read_again();
  // How often the file was refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // When it was read last and taken.
  [[nodiscard]] Wall read_at() const { return read_at_; }

 private:
  UsersFile(std::string path, const Log& log, OnUsers on_users);
  // `asked`: a refusal is counted again, though it is the same.
  Status read(bool asked);

  const std::string path_;
  const Log log_;
  const OnUsers on_users_;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<Wall> read_at_{Wall{}};
  std::mutex reading_;   // one at a time, with its call of on_users_
  FileStamp read_;       // at the last reading that was right
  std::string refusal_;  // why the last one was not; empty: it was

  mutable std::mutex mutex_;
  std::shared_ptr<const Users> users_;
};

}  // namespace quipu
