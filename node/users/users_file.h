// users_file.h: the users file on disk, and the thread that sees when it has changed.
//
//   file ──every 10 s, if its stamp changed, or read_again()──▶ Users ──▶ on_users
//     └── it does not parse: logged and counted, and the users stay as they are
//
// A stamp is the device, inode, size and time of change of a file, so a file that is replaced
// within its timestamp's resolution is seen, too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "node/base/log.h"
#include "node/users/users.h"

namespace quipu {

// invalid_argument: names the file and what to do.
[[nodiscard]] Result<std::shared_ptr<const Users>> read_users_file(const std::string& path);

class UsersFile {
 public:
  static constexpr std::chrono::seconds kLook{10};
  // On the thread, or on that of read_again().
  using OnUsers = std::function<void(std::shared_ptr<const Users>)>;

  // The error is that of read_users_file().
  [[nodiscard]] static Result<std::unique_ptr<UsersFile>> open(std::string path, const Log& log,
                                                               OnUsers on_users);
  ~UsersFile();
  UsersFile(const UsersFile&) = delete;
  UsersFile& operator=(const UsersFile&) = delete;

  // ---- any thread ----
  [[nodiscard]] std::shared_ptr<const Users> users() const;
  // Whatever its stamp says.
  Status read_again();
  // How often the file was refused.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };

  UsersFile(std::string path, const Log& log, OnUsers on_users);
  [[nodiscard]] Stamp stamp() const;
  void run();
  Status read();

  const std::string path_;
  const Log log_;
  const OnUsers on_users_;
  std::atomic<std::uint64_t> refused_{0};
  std::mutex reading_;  // one at a time, with its call of on_users_
  Stamp read_;          // at the last reading

  mutable std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  std::shared_ptr<const Users> users_;
  bool ending_ = false;

  std::thread thread_;
};

}  // namespace quipu
