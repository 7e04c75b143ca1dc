// quipud on a disk that is really full: a small file system in a namespace of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "tests/node/eventually.h"
#include "tests/system/daemons.h"
#include "tests/system/free_ports.h"

namespace quipu::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Mounted for those alone that enter() it.
class SmallDisk {
 public:
  SmallDisk() {
    fs::create_directory(path());
    const std::string script =
        "mount -t tmpfs -o size=12m tmpfs \"$0\" && touch \"$0/mounted\" && "
        "exec sleep 1000";
    holder_ = spawn({"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, path()},
                    "/dev/null", directory_ / "err");
    mounted_ = eventually([this] { return ended() || there("mounted"); }) && !ended();
  }
  ~SmallDisk() {
    if (holder_ == 0) return;
    ::kill(holder_, SIGKILL);
    wait_for(holder_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Empty: it can be used.
  [[nodiscard]] std::string why_not() const {
    return mounted_ ? ""
                    : "this machine mounts nothing for users: " + read_file(directory_ / "err");
  }
  [[nodiscard]] std::string path() const { return directory_ / "disk"; }
  [[nodiscard]] std::vector<std::string> enter(const std::vector<std::string>& command) const {
    std::vector<std::string> words{"nsenter", "--user",   "--preserve-credentials",
                                   "--mount", "--target", std::to_string(holder_)};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  void fill() const { run_inside("cat /dev/zero >\"$0/fill\" 2>/dev/null || true"); }
  void make_room() const { run_inside("rm \"$0/fill\""); }

 private:
  void run_inside(const std::string& script) const {
    run_or_throw(enter({"sh", "-c", script, path()}));
  }
  [[nodiscard]] bool there(const std::string& name) const {
    return run(enter({"test", "-e", path() + "/" + name})).exit_code == 0;
  }
  [[nodiscard]] bool ended() {
    int status = 0;
    if (holder_ != 0 && ::waitpid(holder_, &status, WNOHANG) == holder_) holder_ = 0;
    return holder_ == 0;
  }

  TemporaryDirectory directory_;
  pid_t holder_ = 0;
  bool mounted_ = false;
};

TEST(FullDisk, ANodeThatStartsOnOneServesReadsAndGoesOnOnceThereIsRoom) {
  const SmallDisk disk;
  if (!disk.why_not().empty()) GTEST_SKIP() << disk.why_not();
  const TemporaryDirectory directory;
  const std::string address = "127.0.0.1:" + std::to_string(free_ports(1)[0]);
  const auto quipu = [&](std::vector<std::string> words) {
    words.insert(words.begin(), QUIPU_CLI_PATH);
    words.insert(words.end(), {"--node", address, "--timeout", "5s"});
    return run(words);
  };
  const auto start = [&] {
    return spawn(disk.enter({QUIPUD_PATH, "--name", "n1", "--data", disk.path() + "/data",
                             "--client", address}),
                 "/dev/null", directory / "log");
  };
  const auto answers = [&] { return quipu({"get", "k"}).exit_code == 0; };
  pid_t node = start();
  ASSERT_TRUE(eventually(answers)) << read_file(directory / "log");
  ASSERT_EQ(quipu({"add", "k", "7"}).exit_code, 0);
  disk.fill();
  ::kill(node, SIGKILL);
  wait_for(node);

  node = start();
  EXPECT_TRUE(eventually(answers)) << read_file(directory / "log");
  EXPECT_EQ(quipu({"get", "k"}).out, "7\n");
  const Finished add = quipu({"add", "k"});
  EXPECT_EQ(add.exit_code, 1);
  EXPECT_THAT(add.err, HasSubstr("storage_full"));
  EXPECT_THAT(quipu({"cluster", "status"}).out, HasSubstr("waiting for room"));
  ::kill(node, SIGINT);
  EXPECT_EQ(wait_for(node), 0);

  node = start();
  EXPECT_TRUE(eventually(answers)) << read_file(directory / "log");
  disk.make_room();
  EXPECT_TRUE(eventually([&] {
    return quipu({"add", "k"}).exit_code == 0;
  })) << read_file(directory / "log");
  EXPECT_EQ(quipu({"get", "k", "--strong"}).out, "8\n");
  ::kill(node, SIGINT);
  EXPECT_EQ(wait_for(node), 0);
}

}  // namespace
}  // namespace quipu::test
