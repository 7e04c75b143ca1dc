// The log of a quipud whose stderr goes to systemd's journal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/system/daemons.h"

namespace quipu::test {
namespace {

// Every line of the log that begins with "<6>", as those of level info do.
std::size_t lines_with_priority(const Daemons& daemons, std::size_t& all) {
  std::istringstream lines(read_file(daemons.settings(0) + ".log"));
  std::size_t with = 0;
  all = 0;
  for (std::string line; std::getline(lines, line); ++all) {
    if (line.starts_with("<6>time=")) ++with;
  }
  return with;
}

TEST(Journal, EachLineBeginsWithItsPriorityOnlyIfTheJournalReadsStderr) {
  Daemons daemons(1);
  const std::string log = daemons.settings(0) + ".log";
  std::ofstream{log};
  struct stat file {};
  ASSERT_EQ(::stat(log.c_str(), &file), 0);
  const std::string stream = std::to_string(file.st_dev) + ':' + std::to_string(file.st_ino);
  std::size_t all = 0;
  for (const bool reads : {false, true}) {
    ASSERT_EQ(::truncate(log.c_str(), 0), 0);
    ::setenv("JOURNAL_STREAM", reads ? stream.c_str() : "1:1", 1);
    daemons.start(0);
    ::unsetenv("JOURNAL_STREAM");
    ASSERT_TRUE(daemons.all_ready());
    EXPECT_EQ(daemons.end(0, SIGINT), 0);
    const std::size_t with = lines_with_priority(daemons, all);
    EXPECT_GT(all, 1u);
    EXPECT_EQ(with, reads ? all : 0u);
  }
}

}  // namespace
}  // namespace quipu::test
