// Each mistake of a user: one line that says what to do, the right exit code, and
// nothing changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    daemons.start_all();
    ASSERT_TRUE(daemons.all_ready());
  }
  Finished quipu(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), QUIPU_CLI_PATH);
    arguments.insert(arguments.end(), {"--node", daemons.client_address(0)});
    return run(arguments);
  }
  Daemons daemons{1};
};

void expect_one_line(const Finished& finished, int exit_code, const std::string& part) {
  EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  EXPECT_EQ(finished.out, "");
}

TEST_F(BadInput, OnTheCommandLineChangesNothing) {
  expect_one_line(quipu({"add", ""}), 2, "key");
  expect_one_line(quipu({"add", std::string(513, 'k')}), 2, "512");
  expect_one_line(quipu({"add", "k", "seven"}), 2, "seven");
  expect_one_line(quipu({"add", "k", "9223372036854775808"}), 2, "9223372036854775808");
  expect_one_line(quipu({"shards", "k", "0"}), 2, "1");
  EXPECT_EQ(quipu({"count", "k"}).exit_code, 2);
  EXPECT_EQ(quipu({"ls"}).out, "");
}

TEST_F(BadInput, ASumOutsideTheRangeIsRefusedAndTheCounterKeepsItsValue) {
  EXPECT_EQ(quipu({"add", "k", "9223372036854775807"}).exit_code, 0);
  expect_one_line(quipu({"add", "k"}), 1, "out_of_range");
  EXPECT_EQ(quipu({"get", "k"}).out, "9223372036854775807\n");
}

TEST_F(BadInput, NegativeNumbersAreNumbers) {
  EXPECT_EQ(quipu({"add", "k", "-5"}).exit_code, 0);
  EXPECT_EQ(quipu({"get", "k"}).out, "-5\n");
}

TEST_F(BadInput, ASecondDaemonOnTheSameDirectoryIsToldSo) {
  expect_one_line(run({QUIPUD_PATH, "--config", daemons.settings(0), "--client", "127.0.0.1:0"}), 1,
                  "process");
}

// With the file and the line.
TEST(CheckConfig, FindsWhatWouldKeepTheNodeFromStarting) {
  const TemporaryDirectory directory;
  const auto check = [&](const std::string& text) {
    const std::string file = directory / "quipu.toml";
    std::ofstream(file) << text;
    Finished checked = run({QUIPUD_PATH, "--config", file, "--check-config"});
    const std::size_t at = checked.err.find(file + ":");
    if (at != std::string::npos) checked.err.erase(at, file.size() + 1);
    return checked;
  };
  const std::string sound =
      "[node]\nname = \"n1\"\ndata_directory = \"" + directory / "data" + "\"\n";
  const Finished good = check(sound);
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.out, "ok\n");
  EXPECT_FALSE(std::filesystem::exists(directory / "data"));
  expect_one_line(check(sound + "[clientt]\n"), 1, "quipud: 4: unknown key \"clientt\"");
  expect_one_line(check("[node]\nname = \"n1\"\ndata_directory = \"/proc/quipu\"\n"), 1,
                  "quipud: 3: cannot write to /proc/quipu: No such file or directory");

  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  daemons.end(0, SIGTERM);
  const std::string settings = read_file(daemons.settings(0));
  EXPECT_EQ(check(settings).exit_code, 0);
  expect_one_line(check("[cluster]\nname = \"other\"\n[node]\nname = \"n1\"\ndata_directory = \"" +
                        daemons.data_directory(0) + "\"\n"),
                  1, "the cluster's name is other and was test");
}

TEST(Unreachable, ANodeThatIsNotThereIsNamed) {
  const Finished get =
      run({QUIPU_CLI_PATH, "get", "k", "--node", "127.0.0.1:1", "--timeout", "1s"});
  expect_one_line(get, 1, "127.0.0.1:1");
}

}  // namespace
}  // namespace quipu::test
