#include "tests/system/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/node/eventually.h"
#include "tests/node/temporary_directory.h"

extern char** environ;

namespace quipu::test {

pid_t spawn(const std::vector<std::string>& arguments, const std::string& out,
            const std::string& err) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& one : copies) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, 0600);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, pointers[0], &files, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
  return pid;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int wait_for(pid_t pid) {
  int status = 0;
  const bool ended =
      eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, std::chrono::seconds(60));
  if (!ended) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Finished run(const std::vector<std::string>& arguments) {
  const TemporaryDirectory directory;
  Finished finished;
  finished.exit_code = wait_for(spawn(arguments, directory / "out", directory / "err"));
  finished.out = read_file(directory / "out");
  finished.err = read_file(directory / "err");
  return finished;
}

void run_or_throw(const std::vector<std::string>& arguments) {
  const Finished done = run(arguments);
  if (done.exit_code == 0) return;
  std::string text;
  for (const std::string& one : arguments) text += one + ' ';
  throw std::runtime_error(text + "failed: " + done.err + done.out);
}

}  // namespace quipu::test
