// systemd_notify.h: tells systemd, or what speaks its protocol, how the node is. The protocol is
// one datagram for each message (sd_notify(3)).
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/instant.h"

namespace quipu {

class SystemdNotify {
 public:
  using Variable = std::function<std::optional<std::string>(const std::string& name)>;

  // Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID. Without the first, nobody listens.
  explicit SystemdNotify(const Variable& read);
  ~SystemdNotify();
  SystemdNotify(const SystemdNotify&) = delete;
  SystemdNotify& operator=(const SystemdNotify&) = delete;

  // "READY=1". Never blocks. What finds no room waits for the next tell() or flush(), up to
  // kMostWaiting messages. What nobody can receive is lost.
  void tell(std::string message);
  void flush();
  [[nodiscard]] bool waits() const { return !waiting_.empty(); }

  static constexpr std::size_t kMostWaiting = 32;

  // How often it wants to hear WATCHDOG=1. 0: never.
  [[nodiscard]] Duration watchdog() const { return watchdog_; }

 private:
  int socket_ = -1;
  std::string address_;  // a sockaddr_un
  std::deque<std::string> waiting_;
  Duration watchdog_{};
};

}  // namespace quipu
