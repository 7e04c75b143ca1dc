// process.h: starts programs, and waits for their end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quipu::test {

// Appends both outputs. A name without a slash is looked for in PATH.
[[nodiscard]] pid_t spawn(const std::vector<std::string>& arguments, const std::string& out,
                          const std::string& err);
// Its exit code, or 128 + the signal that ended it. Kills it after 60 s.
int wait_for(pid_t pid);
// Empty if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

struct Finished {
  int exit_code = -1;  // 128 + signal if it was killed
  std::string out;
  std::string err;
};
// Runs a program to its end, at most 60 s.
[[nodiscard]] Finished run(const std::vector<std::string>& arguments);
// Throws std::runtime_error with the program's output if it did not end with 0.
void run_or_throw(const std::vector<std::string>& arguments);

}  // namespace quipu::test
