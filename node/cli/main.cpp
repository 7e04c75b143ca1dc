// quipu: counts from the command line.
#include <unistd.h>  // environ

#include <exception>
#include <iostream>

#include "node/cli/arguments.h"
#include "node/cli/output.h"
#include "node/variables.h"

namespace quipu::cli {
namespace {

int run(int count, char** arguments) {
  const auto parsed = parse_arguments(count, arguments);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  for (const std::string& warning : mistyped_variables(names_of(environ))) complain(warning);
  const auto& todo = std::get<Parsed>(parsed);
  return std::visit([&](const auto& command) { return run(todo.environment, command); },
                    todo.command);
}

}  // namespace
}  // namespace quipu::cli

int main(int count, char** arguments) {
  using namespace quipu::cli;
  try {
    const int code = run(count, arguments);
    if (std::cout.flush()) return code;
    complain("the output could not be written: whoever reads it misses some or all of it");
  } catch (const std::exception& error) {  // of a library: out of memory, no thread
    complain(error.what());
  }
  return kFailed;
}
