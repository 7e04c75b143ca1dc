#include "node/daemon/systemd_notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace quipu {
namespace {

constexpr std::uint64_t kMostWatchdog = 3'600'000'000;  // us: an hour

// 0: there is none.
std::uint64_t number_in(const std::optional<std::string>& text) {
  std::uint64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

SystemdNotify::SystemdNotify(const Variable& read) {
  const std::optional<std::string> path = read("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!path || path->empty() || path->size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path->data(), path->size());
  if (path->front() == '@') address.sun_path[0] = 0;  // abstract: no file
  address_.assign(reinterpret_cast<const char*>(&address),
                  offsetof(sockaddr_un, sun_path) + path->size());
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const std::uint64_t pid = number_in(read("WATCHDOG_PID"));
  if (pid == 0 || pid == static_cast<std::uint64_t>(::getpid()))
    watchdog_ =
        std::chrono::microseconds(std::min(number_in(read("WATCHDOG_USEC")), kMostWatchdog));
}

SystemdNotify::~SystemdNotify() {
  if (socket_ >= 0) ::close(socket_);
}

void SystemdNotify::tell(std::string message) {
  if (socket_ < 0 || waiting_.size() == kMostWaiting) return;
  waiting_.push_back(std::move(message));
  flush();
}

void SystemdNotify::flush() {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const std::string& message = waiting_.front();
    const ssize_t sent = ::sendto(socket_, message.data(), message.size(), MSG_NOSIGNAL,
                                  reinterpret_cast<const sockaddr*>(address_.data()),
                                  static_cast<socklen_t>(address_.size()));
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) return;
  }
}

}  // namespace quipu
