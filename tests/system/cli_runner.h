// cli_runner.h: runs `quipu` as a shell would.
#pragma once

#include <string>
#include <vector>

namespace quipu::test {

struct CliResult {
  int exit = -1;  // -1: it was killed by a signal
  std::string out;
  std::string err;
};

struct CliInput {
  std::vector<std::string> nodes{};  // QUIPU_NODES; empty: not set
  std::string text{};                // on stdin
};

[[nodiscard]] CliResult run_cli(const std::vector<std::string>& arguments,
                                const CliInput& input = {});

}  // namespace quipu::test
