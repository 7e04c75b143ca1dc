// Programs that are started with stdin, stdout or stderr closed, as some supervisors do.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/node/eventually.h"
#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> in_shell(const std::string& redirections,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"/bin/sh", "-c", "exec \"$0\" \"$@\" " + redirections};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::vector<std::string> quipu_at(const Daemons& daemons, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), QUIPU_CLI_PATH);
  arguments.insert(arguments.end(), {"--node", daemons.client_address(0)});
  return arguments;
}

TEST(ClosedDescriptors, AreOnDevNullBeforeTheNodeOpensAnything) {
  for (const std::string closed : {"0<&- 1>&- 2>&-", "2>&-", "0<&- 2>&-", "1>&-"}) {
    Daemons daemons(1);
    const pid_t node = spawn(in_shell(closed, {QUIPUD_PATH, "--config", daemons.settings(0)}),
                             "/dev/null", daemons.settings(0) + ".log");
    EXPECT_TRUE(eventually([&] {
      return run(quipu_at(daemons, {"add", "k"})).exit_code == 0;
    })) << closed;
    for (const char descriptor : {'0', '1', '2'}) {
      if (closed.find(descriptor) == std::string::npos) continue;
      EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(node) + "/fd/" + descriptor),
                "/dev/null")
          << closed;
    }
    ::kill(node, SIGINT);
    EXPECT_EQ(wait_for(node), 0) << closed;
    // Without log lines behind it.
    EXPECT_EQ(read_file(daemons.data_directory(0) + "/lock"), std::to_string(node) + "\n");
  }
}

TEST(ClosedDescriptors, ACommandThatNeedsOneFailsAndOthersDoTheirWork) {
  Daemons daemons(1);
  daemons.start_all();
  ASSERT_TRUE(daemons.all_ready());
  EXPECT_EQ(run(in_shell("0<&- 2>&-", quipu_at(daemons, {"add", "k", "7"}))).exit_code, 0);
  const Finished quiet = run(in_shell("2>&-", quipu_at(daemons, {"get", "k"})));
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.out, "7\n");
  const Finished unheard = run(in_shell("1>&-", quipu_at(daemons, {"get", "k"})));
  EXPECT_EQ(unheard.exit_code, 1);
  EXPECT_NE(unheard.err.find("could not be written"), std::string::npos) << unheard.err;
  const Finished unread = run(in_shell("0<&-", quipu_at(daemons, {"ingest"})));
  EXPECT_EQ(unread.exit_code, 1) << unread.err << unread.out;
}

TEST(FewDescriptors, ANodeThatCannotOpenItsSocketsSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "where Asio cannot open an epoll, it uses a service that does not exist yet";
#endif
  const Finished node =
      run({"/bin/sh", "-c", std::string("ulimit -n 10; exec ") + QUIPUD_PATH + " --dev"});
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_NE(node.err.find("quipud: "), std::string::npos) << node.err;
}

}  // namespace
}  // namespace quipu::test
