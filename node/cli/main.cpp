// quipu: counts from the command line.
#include <unistd.h>  // environ

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "node/base/standard_descriptors.h"
#include "node/cli/arguments.h"
#include "node/cli/output.h"
#include "node/settings/variables.h"

namespace quipu::cli {
namespace {

// Whether the command only reads: then it may be repeated after any outcome.
bool only_reads(const Command& command) {
  return std::holds_alternative<GetCommand>(command) ||
         std::holds_alternative<DistinctCountCommand>(command) ||
         std::holds_alternative<FrequencyQueryCommand>(command) ||
         std::holds_alternative<TopListCommand>(command) ||
         std::holds_alternative<RangeCommand>(command) ||
         std::holds_alternative<ListCommand>(command) ||
         std::holds_alternative<NamespaceShowCommand>(command) ||
         std::holds_alternative<NamespaceListCommand>(command) ||
         std::holds_alternative<StatusCommand>(command) ||
         std::holds_alternative<ConfigShowCommand>(command);
}

int carry_out(const Parsed& todo) {
  const int unsure = only_reads(todo.command) ? kFailed : kUnknown;
  try {
    const int code = std::visit([&](const auto& command) { return run(todo.environment, command); },
                                todo.command);
    if (std::cout.flush()) return code;
    complain("the output could not be written: some or all of it is missing");
    return code == kOk ? unsure : code;
  } catch (const std::exception& error) {  // from a library: out of memory, no thread
    complain(error.what());
    const Code code = unsure == kUnknown ? Code::in_doubt : Code::unavailable;
    if (todo.environment.json)
      print_json(document(name_of(todo.command), Status(code, error.what())));
    return unsure;
  }
}

}  // namespace
}  // namespace quipu::cli

int main(int count, char** arguments) {
  using namespace quipu::cli;
  quipu::open_standard_descriptors();
  const auto parsed = parse_arguments(count, arguments);
  if (const int* code = std::get_if<int>(&parsed)) {
    if (std::cout.flush()) return *code;
    complain("the output could not be written");
    return kFailed;
  }
  for (const std::string& warning : quipu::mistyped_variables(quipu::names_of(environ)))
    complain(warning);
  return carry_out(std::get<Parsed>(parsed));
}
