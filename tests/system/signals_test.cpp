// Signals and terminals that end other programs: what quipud does with them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/node/eventually.h"
#include "tests/system/daemons.h"

extern char** environ;

namespace quipu::test {
namespace {

namespace fs = std::filesystem;

// Real-time signals are not constants.
std::vector<int> stopping_signals() {
  return {SIGINT,  SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2,   SIGALRM,  SIGVTALRM,
          SIGPROF, SIGIO,   SIGPWR,  SIGXCPU, SIGSTKFLT, SIGRTMIN, SIGRTMAX};
}

TEST(StopSignals, EachStopsTheNodeGracefullyAndKeepsAddsAtMemory) {
  Daemons daemons(1);
  std::int64_t added = 0;
  for (const int number : stopping_signals()) {
    daemons.start(0);
    ASSERT_TRUE(daemons.all_ready());
    const std::string node = daemons.client_address(0);
    const Finished add = run({QUIPU_CLI_PATH, "add", "kept", "--ack", "memory", "--node", node});
    ASSERT_EQ(add.exit_code, 0) << add.err;
    ++added;
    EXPECT_EQ(daemons.end(0, number), 0) << "signal " << number;
  }
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  EXPECT_EQ(run({QUIPU_CLI_PATH, "get", "kept", "--node", daemons.client_address(0)}).out,
            std::to_string(added) + "\n");
}

// More than once, so that a node that stops has the time to.
bool goes_on(const std::string& node) {
  for (int i = 0; i < 10; ++i) {
    if (run({QUIPU_CLI_PATH, "add", "k", "--node", node}).exit_code != 0) return false;
  }
  return true;
}

TEST(StopSignals, HangupsBrokenPipesAndTooLargeFilesDoNotStopTheNode) {
  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  for (const int number : {SIGHUP, SIGPIPE, SIGXFSZ}) daemons.signal(0, number);
  EXPECT_TRUE(goes_on(daemons.client_address(0)));
  EXPECT_EQ(daemons.end(0, SIGTERM), 0);
}

bool log_has(const Daemons& daemons, const std::string& text) {
  return eventually(
      [&] { return read_file(daemons.settings(0) + ".log").find(text) != std::string::npos; });
}

bool add(const Daemons& daemons) {
  return run({QUIPU_CLI_PATH, "add", "k", "--node", daemons.client_address(0)}).exit_code == 0;
}

// In the node's settings.
void replace(const Daemons& daemons, const std::string& from, const std::string& to) {
  std::string settings = read_file(daemons.settings(0));
  settings.replace(settings.find(from), from.size(), to);
  std::ofstream(daemons.settings(0)) << settings;
}

void set_drain_delay(const Daemons& daemons, const std::string& ms) {
  replace(daemons, "drain_delay_ms = 0", "drain_delay_ms = " + ms);
}

TEST(Drain, TheNodeServesAsBeforeAndASecondSignalEndsIt) {
  Daemons daemons(1);
  set_drain_delay(daemons, "600000");
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  daemons.signal(0, SIGTERM);
  ASSERT_TRUE(log_has(daemons, "msg=draining audit=true delay_ms=600000"));
  const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  do {
    EXPECT_TRUE(add(daemons));
  } while (std::chrono::steady_clock::now() < later);  // as a new request
  EXPECT_EQ(daemons.end(0, SIGTERM), 128 + SIGTERM);
}

TEST(Drain, TheNodeEndsOnceTheDelayIsOver) {
  Daemons daemons(1);
  set_drain_delay(daemons, "10");
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  EXPECT_EQ(daemons.end(0, SIGTERM), 0);
  EXPECT_TRUE(log_has(daemons, "msg=closed"));
}

TEST(Drain, OtherStopSignalsSkipTheDelay) {
  Daemons daemons(1);
  set_drain_delay(daemons, "600000");
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  EXPECT_EQ(daemons.end(0, SIGINT), 0);
}

TEST(Reload, AppliesLimitsAndTheLogLevelAndNamesWhatNeedsARestart) {
  Daemons daemons(1);
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  replace(daemons, "drain_delay_ms = 0",
          "drain_delay_ms = 1\nlog_level = \"warning\"\n[client]\nidle_seconds = 77");
  daemons.signal(0, SIGHUP);
  EXPECT_TRUE(log_has(
      daemons, "msg=\"a setting was reloaded\" audit=true setting=node.log_level value=warning"));
  EXPECT_TRUE(log_has(
      daemons, "msg=\"a setting was reloaded\" audit=true setting=client.idle_seconds value=77"));
  EXPECT_TRUE(log_has(
      daemons, "msg=\"a changed setting needs a restart\" audit=true setting=node.drain_delay_ms"));
  EXPECT_TRUE(add(daemons));
  EXPECT_EQ(daemons.end(0, SIGTERM), 0);
  EXPECT_FALSE(read_file(daemons.settings(0) + ".log").ends_with("msg=closed\n"));  // of level info
}

TEST(Reload, SettingsWithAnErrorChangeNothing) {
  Daemons daemons(1);
  daemons.start(0);
  ASSERT_TRUE(daemons.all_ready());
  replace(daemons, "drain_delay_ms = 0",
          "log_level = \"warning\"\n[client]\nidle_seconds = \"long\"");
  daemons.signal(0, SIGHUP);
  EXPECT_TRUE(log_has(daemons, "msg=\"the settings were not reloaded\" audit=true"));
  EXPECT_TRUE(log_has(daemons, "idle_seconds"));
  EXPECT_EQ(daemons.end(0, SIGINT), 0);
  EXPECT_TRUE(log_has(daemons, "msg=closed"));  // of level info
}

// What a service manager has at its end.
class NotifySocket {
 public:
  NotifySocket() : descriptor_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot bind " + path());
  }
  ~NotifySocket() { ::close(descriptor_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] std::string path() const { return directory_ / "notify"; }
  // Whether this message comes, after any others.
  [[nodiscard]] bool hears(const std::string& wanted) const {
    return eventually([&] {
      std::string message(1000, 0);
      const ssize_t size = ::recv(descriptor_, message.data(), message.size(), MSG_DONTWAIT);
      return size >= 0 && message.substr(0, static_cast<std::size_t>(size)) == wanted;
    });
  }

 private:
  const TemporaryDirectory directory_;
  const int descriptor_;
};

TEST(SystemdNotify, HearsOfStartReloadDrainAndTheWatchdog) {
  const NotifySocket manager;
  const Daemons daemons(1);
  const std::string log = daemons.settings(0) + ".log";
  const pid_t node = spawn({"/usr/bin/env", "NOTIFY_SOCKET=" + manager.path(),
                            "WATCHDOG_USEC=2000000", QUIPUD_PATH, "--config", daemons.settings(0)},
                           log, log);
  for (const char* message : {"READY=1", "STATUS=ready", "WATCHDOG=1", "WATCHDOG=1"})
    EXPECT_TRUE(manager.hears(message)) << message;
  ::kill(node, SIGHUP);
  for (const char* message : {"RELOADING=1", "READY=1"})
    EXPECT_TRUE(manager.hears(message)) << message;
  ::kill(node, SIGTERM);
  for (const char* message : {"STOPPING=1", "STATUS=draining"})
    EXPECT_TRUE(manager.hears(message)) << message;
  EXPECT_EQ(wait_for(node), 0);
}

// `quipud --dev` whose temporary directories are in one of the test's own.
class DevNode {
 public:
  enum class Terminal { none, controlling, another };

  // `wrapper`: a program that becomes quipud, with its arguments.
  explicit DevNode(Terminal terminal, const std::vector<std::string>& wrapper = {}) {
    fs::create_directory(directory_ / "tmp");
    std::vector<std::string> words = wrapper;
    words.insert(words.end(), {"/usr/bin/env", "TMPDIR=" + directory_ / "tmp", QUIPUD_PATH, "--dev",
                               "--client", "127.0.0.1:0"});
    start(words, terminal);
  }
  ~DevNode() {
    close_terminal();
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  DevNode(const DevNode&) = delete;
  DevNode& operator=(const DevNode&) = delete;

  [[nodiscard]] bool runs() const {
    return eventually([this] { return said().find("add likes:42") != std::string::npos; });
  }
  // Where clients reach it, as it says.
  [[nodiscard]] std::string address() const {
    const std::string text = said();
    const std::string_view before = "clients: ";
    const std::size_t from = text.find(before) + before.size();
    return text.substr(from, text.find('\n', from) - from);
  }
  [[nodiscard]] std::string said() const { return read_file(directory_ / "err"); }
  void signal(int number) const { ::kill(pid_, number); }
  void pause() const {
    signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
  }
  void close_terminal() {
    if (terminal_ >= 0) ::close(std::exchange(terminal_, -1));
  }
  // Its exit code, as wait_for() has it.
  [[nodiscard]] int ended() { return wait_for(std::exchange(pid_, 0)); }
  [[nodiscard]] bool left_something() const { return !fs::is_empty(directory_ / "tmp"); }

 private:
  void start(std::vector<std::string> words, Terminal terminal) {
    std::string input = "/dev/null";
    if (terminal != Terminal::none) {
      terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      if (terminal_ < 0 || ::grantpt(terminal_) != 0 || ::unlockpt(terminal_) != 0)
        throw std::runtime_error("no terminal");
      input = ::ptsname(terminal_);
    }
    const int open_as = O_RDWR | (terminal == Terminal::another ? O_NOCTTY : 0);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input.c_str(), open_as, 0);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      ::posix_spawn_file_actions_addopen(&files, descriptor, (directory_ / "err").c_str(),
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int failed =
        ::posix_spawnp(&pid_, pointers[0], &files, &attributes, pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("cannot start " + words[0]);
  }

  TemporaryDirectory directory_;
  int terminal_ = -1;
  pid_t pid_ = 0;
};

TEST(DevNode, IsStoppedByASignalAndLeavesNothingBehind) {
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGQUIT}) {
    DevNode node(DevNode::Terminal::none);
    ASSERT_TRUE(node.runs()) << node.said();
    EXPECT_TRUE(node.left_something());  // its directory is there
    node.signal(number);
    EXPECT_EQ(node.ended(), 0) << "signal " << number;
    EXPECT_FALSE(node.left_something()) << "signal " << number;
  }
}

// timeout(1) sends each signal twice, and a shell sends its own SIGHUP after the terminal's.
TEST(DevNode, TakesSignalsThatComeTogetherForOne) {
  DevNode node(DevNode::Terminal::none);
  ASSERT_TRUE(node.runs()) << node.said();
  node.pause();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) node.signal(number);
  node.signal(SIGCONT);
  EXPECT_EQ(node.ended(), 0);
  EXPECT_FALSE(node.left_something());
}

TEST(DevNode, EndsWithItsTerminal) {
  // In the second, the terminal sends it no signal, as if it ran in the background.
  for (const auto terminal : {DevNode::Terminal::controlling, DevNode::Terminal::another}) {
    DevNode node(terminal);
    ASSERT_TRUE(node.runs()) << node.said();
    node.close_terminal();
    EXPECT_EQ(node.ended(), 0);
    EXPECT_FALSE(node.left_something());
  }
}

TEST(DevNode, OutlivesItsTerminalUnderNohup) {
  DevNode node(DevNode::Terminal::controlling, {"nohup"});
  ASSERT_TRUE(node.runs()) << node.said();
  node.close_terminal();
  node.signal(SIGHUP);
  EXPECT_TRUE(goes_on(node.address()));
  node.signal(SIGUSR1);
  EXPECT_EQ(node.ended(), 0);
  EXPECT_FALSE(node.left_something());
}

}  // namespace
}  // namespace quipu::test
