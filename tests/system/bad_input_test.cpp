// Each mistake of a user: one line that says what to do, the right exit code, and
// nothing changed.
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(Unreachable, ANodeThatIsNotThereIsNamed) {
  const Finished get =
      run({QUIPU_CLI_PATH, "get", "k", "--node", "127.0.0.1:1", "--timeout", "1s"});
  expect_one_line(get, 1, "127.0.0.1:1");
}

}  // namespace
}  // namespace quipu::test
