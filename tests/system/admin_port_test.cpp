// The admin port of a real quipud, by plain sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/node/eventually.h"
#include "tests/system/admin_client.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

namespace fs = std::filesystem;
using asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;

class AdminPortTest : public testing::Test {
 protected:
  void SetUp() override {
    daemons_.start_all();
    ASSERT_TRUE(eventually([this] { return get("/readyz").starts_with("HTTP/1.1 200 "); }));
  }

  [[nodiscard]] tcp::socket connect() { return client_.connect(); }
  [[nodiscard]] std::string ask(const std::string& request) { return client_.ask(request); }
  [[nodiscard]] std::string get(const std::string& path) { return client_.get(path); }

  const int port_ = free_ports(1).front();
  Daemons daemons_{1, "[admin]\naddress = \"127.0.0.1:" + std::to_string(port_) + "\"\n"};
  AdminClient client_{port_};
};

TEST_F(AdminPortTest, AnswersGetAndHeadOnceForEachConnection) {
  for (const std::string path : {"/livez", "/readyz"}) {
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(get(path), HasSubstr("Connection: close"));
    EXPECT_THAT(get(path), testing::EndsWith(path == "/livez" ? "ok\n" : "ready\n"));
    const std::string head = ask("HEAD " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(head, testing::EndsWith("\r\n\r\n"));
  }
}

TEST_F(AdminPortTest, RefusesWhatItDoesNotServe) {
  EXPECT_THAT(get("/"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/livez/x"), StartsWith("HTTP/1.1 404 "));
  for (const std::string method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
    EXPECT_THAT(ask(method + " /livez HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 405 "))
        << method;
  EXPECT_THAT(ask("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 413 "));
  const std::string huge = "GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_THAT(ask(huge), testing::Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(std::string("\x16\x03\x01\x02\0\x01", 6) + "\r\n\r\n"),
              testing::Not(HasSubstr(" 200 ")));
  EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(AdminPortTest, AnswersBesideManySlowClients) {
  std::vector<tcp::socket> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(connect());
    asio::write(slow.back(), asio::buffer("G", 1));
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200 "));
  // A byte now and then does not keep a connection. (Fewer than 8 KiB within kPatience.)
  tcp::socket lasting = connect();
  auto next = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] {
    asio::error_code ended;
    if (std::chrono::steady_clock::now() < next) return false;
    next += std::chrono::milliseconds(100);
    asio::write(lasting, asio::buffer("G", 1), ended);
    return static_cast<bool>(ended);
  }));
}

TEST_F(AdminPortTest, IsAliveAndNotReadyWhileItDrains) {
  EXPECT_EQ(daemons_.end(0, SIGINT), 0);
  std::string settings = read_file(daemons_.settings(0));
  const std::string none = "drain_delay_ms = 0";
  settings.replace(settings.find(none), none.size(), "drain_delay_ms = 600000");
  std::ofstream(daemons_.settings(0)) << settings;
  daemons_.start(0);
  ASSERT_TRUE(eventually([this] { return get("/readyz").starts_with("HTTP/1.1 200 "); }));
  daemons_.signal(0, SIGTERM);
  ASSERT_TRUE(eventually([this] { return get("/readyz").starts_with("HTTP/1.1 503 "); }));
  EXPECT_THAT(get("/readyz"), HasSubstr("draining"));
  EXPECT_THAT(get("/livez"), StartsWith("HTTP/1.1 200 "));
}

// The thread of a process with this name. 0: there is none.
pid_t find_thread(pid_t process, const std::string& name) {
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    if (read_file(entry.path() / "comm") == name + "\n") return std::stoi(entry.path().filename());
  }
  return 0;
}

TEST_F(AdminPortTest, AReactorThatIsStuckIsReported) {
  const pid_t reactor = find_thread(daemons_.pid(0), "quipu-reactor");
  ASSERT_NE(reactor, 0);
  if (::ptrace(PTRACE_SEIZE, reactor, nullptr, nullptr) != 0) GTEST_SKIP() << "no ptrace here";
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, reactor, nullptr, nullptr), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(reactor, &status, __WALL), reactor);
  EXPECT_TRUE(eventually([this] { return get("/livez").starts_with("HTTP/1.1 503 "); }));
  EXPECT_THAT(get("/livez"), HasSubstr("restart the node"));
  ASSERT_EQ(::ptrace(PTRACE_DETACH, reactor, nullptr, nullptr), 0);
  EXPECT_TRUE(eventually([this] { return get("/livez").starts_with("HTTP/1.1 200 "); }));
}

}  // namespace
}  // namespace quipu::test
