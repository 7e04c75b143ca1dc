// `quipu` on a terminal: what it shows while it works is never wider than that, and Ctrl-C
// loses no result.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "quipu/node.h"
#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"
#include "tests/system/process.h"

namespace quipu::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Without the sequences that steer a terminal: ESC [, numbers, and a letter.
std::string without_steering(const std::string& shown) {
  std::string text;
  for (std::size_t at = 0; at < shown.size(); ++at) {
    if (shown.compare(at, 2, "\x1b[") != 0) {
      text += shown[at];
      continue;
    }
    at = std::min(shown.find_first_not_of("0123456789;?", at + 2), shown.size());
  }
  return text;
}

// `quipu` with its stderr on a terminal, and its stdout in a file.
class OnATerminal {
 public:
  OnATerminal(std::vector<std::string> arguments, unsigned short columns, std::string out)
      : out_(std::move(out)), master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    resize(columns);
    arguments.insert(arguments.begin(), QUIPU_CLI_PATH);
    std::vector<char*> pointers;
    for (std::string& one : arguments) pointers.push_back(one.data());
    pointers.push_back(nullptr);
    char term[] = "TERM=xterm";
    char* environment[] = {term, nullptr};
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, ::ptsname(master_), O_RDWR | O_NOCTTY,
                                       0);
    const int failed = ::posix_spawn(&child_, pointers[0], &files, nullptr, pointers.data(),
                                     static_cast<char**>(environment));
    ::posix_spawn_file_actions_destroy(&files);
    EXPECT_EQ(failed, 0);
  }
  ~OnATerminal() {
    if (child_ != 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(master_);
  }
  OnATerminal(const OnATerminal&) = delete;
  OnATerminal& operator=(const OnATerminal&) = delete;

  void resize(unsigned short columns) const {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }
  void interrupt() const { ::kill(child_, SIGINT); }

  // The lines that were drawn over each other so far, without what steers the terminal.
  std::vector<std::string> drawn() {
    read_what_is_there();
    std::vector<std::string> lines;
    std::size_t begin = 0;
    // Up to the last that was begun, which may not be whole.
    for (std::size_t end; (end = shown_.find('\r', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = without_steering(shown_.substr(begin, end - begin));
      if (!line.empty() && line != "\n") lines.push_back(line);
    }
    return lines;
  }
  // All that is shown to the end.
  std::string rest() {
    read_what_is_there();
    return shown_;
  }

  int wait() {
    int status = 0;
    EXPECT_TRUE(eventually([&] {
      read_what_is_there();
      return ::waitpid(child_, &status, WNOHANG) == child_;
    }));
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string out() const { return read_file(out_); }

 private:
  void read_what_is_there() {
    pollfd ready{.fd = master_, .events = POLLIN, .revents = 0};
    char buffer[4096];
    while (::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
      const ssize_t got = ::read(master_, buffer, sizeof buffer);
      if (got <= 0) return;
      shown_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  const std::string out_;
  const int master_;
  pid_t child_ = 0;
  std::string shown_;
};

class CliTerminal : public testing::Test {
 protected:
  void SetUp() override {
    NodeOptions options;
    options.data_directory = directory_ / "data";
    options.client_address = "127.0.0.1:0";
    auto node = Node::open(options);
    ASSERT_TRUE(node.ok()) << node.status().message();
    node_ = std::move(*node);
    ASSERT_TRUE(node_->wait_ready(std::chrono::seconds(20)));
    std::ofstream file(input_);
    for (int i = 0; i < 1'000'000; ++i) file << "key" << i % 100 << '\n';
  }

  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "input";
  std::unique_ptr<Node> node_;
};

TEST_F(CliTerminal, TheProgressIsAsWideAsTheTerminalAndFollowsIt) {
  OnATerminal quipu({"ingest", input_, "--rate", "100", "--node", node_->client_address()}, 30,
                    directory_ / "out");
  std::size_t seen = 0;
  const auto more = [&](std::size_t lines) {
    return eventually([&] { return quipu.drawn().size() >= seen + lines; });
  };
  for (const auto& [columns, shows] : std::vector<std::pair<unsigned short, std::string>>{
           {30, "lines"}, {20, "%"}, {8, "%"}, {1, ""}, {100, "[>"}}) {
    quipu.resize(columns);
    seen = quipu.drawn().size();
    ASSERT_TRUE(more(5)) << columns << " columns";
    const std::vector<std::string> lines = quipu.drawn();
    // The first may have been begun before.
    for (std::size_t i = seen + 2; i < lines.size(); ++i)
      EXPECT_LT(lines[i].size(), std::max<std::size_t>(columns, 2)) << lines[i];
    EXPECT_THAT(lines.back(), HasSubstr(shows));
  }
  quipu.interrupt();
  EXPECT_EQ(quipu.wait(), 1);
  EXPECT_THAT(quipu.out(), HasSubstr("lines counted"));
}

TEST_F(CliTerminal, BenchShowsWhatItDoesAndReportsItWhenInterrupted) {
  OnATerminal quipu({"bench", "--seconds", "3600", "--connections", "2", "--pipeline", "4",
                     "--keys", "10", "--node", node_->client_address()},
                    80, directory_ / "out");
  ASSERT_TRUE(eventually([&] {
    const std::vector<std::string> lines = quipu.drawn();
    return !lines.empty() && lines.back().ends_with(" adds/s");
  }));
  EXPECT_THAT(quipu.drawn().front(), HasSubstr("warming up"));
  quipu.interrupt();
  EXPECT_EQ(quipu.wait(), 0);
  EXPECT_THAT(quipu.rest(), HasSubstr("interrupted: this is what was measured in "));
  EXPECT_THAT(quipu.out(), HasSubstr(" adds/s over 2 connections"));
  EXPECT_THAT(quipu.out(), Not(HasSubstr("\n0 adds/s")));
}

TEST_F(CliTerminal, WithoutATerminalNoProgressIsShown) {
  const Finished bench = run({QUIPU_CLI_PATH, "bench", "--seconds", "1", "--connections", "2",
                              "--keys", "10", "--node", node_->client_address()});
  EXPECT_EQ(bench.exit_code, 0);
  EXPECT_EQ(bench.err, "");
}

}  // namespace
}  // namespace quipu::test
