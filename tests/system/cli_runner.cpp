#include "tests/system/cli_runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "tests/node/temporary_directory.h"

namespace quipu::test {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

// Files instead of pipes: nobody has to read while it runs.
CliResult run_cli(const std::vector<std::string>& arguments, const CliInput& input) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "in", std::ios::binary) << input.text;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, (directory / "in").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (directory / "out").c_str(), kCreate,
                                   0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (directory / "err").c_str(), kCreate,
                                   0600);
  // The listeners of the nodes in this process.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  std::vector<std::string> words{QUIPU_CLI_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string nodes = "QUIPU_NODES=" + joined(input.nodes);
  std::array<char*, 2> environment{input.nodes.empty() ? nullptr : nodes.data(), nullptr};

  pid_t child = 0;
  const int error =
      posix_spawn(&child, QUIPU_CLI_PATH, &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  CliResult result;
  if (error != 0) {
    ADD_FAILURE() << "cannot start " << QUIPU_CLI_PATH;
    return result;
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit = WEXITSTATUS(status);
  result.out = contents(directory / "out");
  result.err = contents(directory / "err");
  return result;
}

}  // namespace quipu::test
