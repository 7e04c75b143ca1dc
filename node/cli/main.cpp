// quipu: counts from the command line.
#include <exception>

#include "node/cli/arguments.h"
#include "node/cli/output.h"

int main(int count, char** arguments) {
  using namespace quipu::cli;
  try {
    const auto parsed = parse_arguments(count, arguments);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const auto& todo = std::get<Parsed>(parsed);
    return std::visit([&](const auto& command) { return run(todo.environment, command); },
                      todo.command);
  } catch (const std::exception& error) {  // of a library: out of memory, no thread
    complain(error.what());
    return kFailed;
  }
}
