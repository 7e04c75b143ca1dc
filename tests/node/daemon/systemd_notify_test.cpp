#include "node/daemon/systemd_notify.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <map>

#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

SystemdNotify::Variable variables(std::map<std::string, std::string> all) {
  return [all = std::move(all)](const std::string& name) -> std::optional<std::string> {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  };
}

// What systemd has at its end.
class Socket {
 public:
  explicit Socket(const std::string& path) : descriptor_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (path.front() == '@') address.sun_path[0] = 0;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] std::string receive() const {
    std::string message(1000, 0);
    const ssize_t size = ::recv(descriptor_, message.data(), message.size(), 0);
    message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return message;
  }

 private:
  int descriptor_;
};

TEST(SystemdNotify, IsToldAtItsSocket) {
  const TemporaryDirectory directory;
  for (const std::string& path :
       {directory / "notify", "@quipu-test-" + std::to_string(::getpid())}) {
    const Socket socket(path);
    SystemdNotify manager(variables({{"NOTIFY_SOCKET", path}}));
    manager.tell("READY=1");
    manager.tell("STATUS=ready");
    EXPECT_EQ(socket.receive(), "READY=1");
    EXPECT_EQ(socket.receive(), "STATUS=ready");
  }
}

TEST(SystemdNotify, WhatFindsNoRoomWaits) {
  const TemporaryDirectory directory;
  const Socket socket(directory / "notify");
  SystemdNotify manager(variables({{"NOTIFY_SOCKET", directory / "notify"}}));
  int told = 0;
  while (told < 5'000 && !manager.waits()) manager.tell(std::to_string(told++));
  ASSERT_TRUE(manager.waits());
  for (int i = 0; i < told; ++i) {
    EXPECT_EQ(socket.receive(), std::to_string(i));
    manager.flush();
  }
  EXPECT_FALSE(manager.waits());
}

TEST(SystemdNotify, ThereMayBeNone) {
  const TemporaryDirectory directory;
  for (const std::string& path : {std::string(), directory / "nobody", std::string(500, 'x')}) {
    SystemdNotify manager(variables({{"NOTIFY_SOCKET", path}}));
    manager.tell("READY=1");
  }
  SystemdNotify(variables({})).tell("READY=1");
}

TEST(SystemdNotify, SaysHowOftenItWantsToHearOfTheNode) {
  const TemporaryDirectory directory;
  const std::string self = std::to_string(::getpid());
  const auto watchdog = [&](const std::string& time, const std::string& pid) {
    return SystemdNotify(variables({{"NOTIFY_SOCKET", directory / "notify"},
                                    {"WATCHDOG_USEC", time},
                                    {"WATCHDOG_PID", pid}}))
        .watchdog();
  };
  EXPECT_EQ(watchdog("30000000", self), std::chrono::seconds(30));
  EXPECT_EQ(watchdog("30000000", ""), std::chrono::seconds(30));
  EXPECT_EQ(watchdog("30000000", "1"), Duration::zero());  // of another process
  EXPECT_EQ(watchdog("", self), Duration::zero());
  EXPECT_EQ(watchdog("18446744073709551615", self), std::chrono::hours(1));
  EXPECT_EQ(SystemdNotify(variables({{"WATCHDOG_USEC", "5000000"}})).watchdog(),
            Duration::zero());  // nobody listens
}

}  // namespace
}  // namespace quipu::test
