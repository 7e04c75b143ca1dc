#include "tests/system/cli_runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

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
RunningCli::RunningCli(const std::vector<std::string>& arguments, const CliInput& input) {
  std::ofstream(directory_ / "in", std::ios::binary) << input.text;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, (directory_ / "in").c_str(), O_RDONLY, 0);
  const std::string out = input.out.empty() ? directory_ / "out" : input.out;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), kCreate, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (directory_ / "err").c_str(), kCreate,
                                   0600);
  // The listeners of the nodes in this process.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  std::vector<std::string> words{QUIPU_CLI_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = input.variables;
  if (!input.nodes.empty()) variables.push_back("QUIPU_NODES=" + joined(input.nodes));
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);

  const int error =
      posix_spawn(&child_, QUIPU_CLI_PATH, &files, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return;
  child_ = 0;
  ADD_FAILURE() << "cannot start " << QUIPU_CLI_PATH;
}

RunningCli::~RunningCli() {
  signal(SIGKILL);
  if (child_ != 0) waitpid(child_, nullptr, 0);
}

void RunningCli::signal(int number) const {
  if (child_ != 0) kill(child_, number);
}

CliResult RunningCli::finish() {
  CliResult result;
  int status = 0;
  if (child_ == 0 || waitpid(std::exchange(child_, 0), &status, 0) < 0) return result;
  if (WIFEXITED(status)) result.exit = WEXITSTATUS(status);
  result.out = contents(directory_ / "out");
  result.err = contents(directory_ / "err");
  return result;
}

CliResult run_cli(const std::vector<std::string>& arguments, const CliInput& input) {
  return RunningCli(arguments, input).finish();
}

}  // namespace quipu::test
