// cli_runner.h: runs `quipu` as a shell would.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/node/temporary_directory.h"

namespace quipu::test {

struct CliResult {
  int exit = -1;  // -1: it was killed by a signal
  std::string out;
  std::string err;
};

struct CliInput {
  std::vector<std::string> nodes{};      // QUIPU_NODES; empty: not set
  std::string text{};                    // on stdin
  std::vector<std::string> variables{};  // others, as NAME=value
  std::string out{};                     // where stdout goes; empty: into CliResult
};

// A `quipu` that runs beside the test.
class RunningCli {
 public:
  explicit RunningCli(const std::vector<std::string>& arguments, const CliInput& input = {});
  ~RunningCli();
  RunningCli(const RunningCli&) = delete;
  RunningCli& operator=(const RunningCli&) = delete;

  void signal(int number) const;
  // To send a signal while another thread waits for the end.
  [[nodiscard]] pid_t pid() const { return child_; }
  // Call it once: waits for the end.
  [[nodiscard]] CliResult finish();

 private:
  TemporaryDirectory directory_;
  pid_t child_ = 0;  // 0: none runs
};

[[nodiscard]] CliResult run_cli(const std::vector<std::string>& arguments,
                                const CliInput& input = {});

}  // namespace quipu::test
