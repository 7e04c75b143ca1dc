// A log collector that hangs: stderr is a pipe that nobody empties.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/node/eventually.h"
#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

// A named pipe that is full.
class FullPipe {
 public:
  FullPipe() {
    if (::mkfifo(path().c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    reader_ = ::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int writer = ::open(path().c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    while (::write(writer, "#", 1) == 1) {
    }
    ::close(writer);
  }
  ~FullPipe() { ::close(reader_); }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

  [[nodiscard]] std::string path() const { return directory_ / "pipe"; }
  // What is in it now.
  std::string take() {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = ::read(reader_, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(n));
    return text;
  }

 private:
  TemporaryDirectory directory_;
  int reader_ = -1;
};

TEST(BlockedStderr, DoesNotKeepTheNodeFromServingAndStopping) {
  Daemons daemons(1);
  FullPipe pipe;
  const pid_t node = spawn({QUIPUD_PATH, "--config", daemons.settings(0), "--log-level", "debug"},
                           "/dev/null", pipe.path());
  EXPECT_TRUE(eventually([&] {
    return run({QUIPU_CLI_PATH, "add", "k", "--timeout", "1s", "--node", daemons.client_address(0)})
               .exit_code == 0;
  }));
  ::kill(node, SIGINT);
  EXPECT_EQ(wait_for(node), 0);
}

TEST(BlockedStderr, WhatWaitedIsWrittenOnceThereIsRoom) {
  Daemons daemons(1);
  FullPipe pipe;
  const pid_t node =
      spawn({QUIPUD_PATH, "--config", daemons.settings(0)}, "/dev/null", pipe.path());
  EXPECT_TRUE(eventually([&] {
    return run({QUIPU_CLI_PATH, "add", "k", "--timeout", "1s", "--node", daemons.client_address(0)})
               .exit_code == 0;
  }));
  std::string said;
  EXPECT_TRUE(eventually([&] { return (said += pipe.take()).find("serving") != said.npos; }));
  EXPECT_NE(said.find("store recovered"), said.npos);
  ::kill(node, SIGINT);
  EXPECT_EQ(wait_for(node), 0);
}

TEST(BlockedStderr, DoesNotKeepAMistakeFromEndingTheProgram) {
  FullPipe pipe;
  EXPECT_EQ(wait_for(spawn({QUIPUD_PATH, "--name", ""}, "/dev/null", pipe.path())), 1);
}

}  // namespace
}  // namespace quipu::test
