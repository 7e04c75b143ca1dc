// arguments.h: parses the command line, and checks it as far as no node is needed.
#pragma once

#include <string_view>
#include <variant>

#include "node/cli/commands.h"

namespace quipu::cli {

using Command =
    std::variant<AddCommand, GetCommand, DistinctAddCommand, DistinctCountCommand, ItemAddCommand,
                 ItemBeginCommand, FrequencyQueryCommand, TopListCommand, RangeCommand,
                 ResetCommand, ShardsCommand, ListCommand, IngestCommand, NamespaceChangeCommand,
                 NamespaceDropCommand, NamespaceShowCommand, NamespaceListCommand, StatusCommand,
                 ConfigShowCommand, UserNewCommand, SecretCommand, BenchCommand>;

struct Parsed {
  Environment environment;
  Command command;
};

// The command to run, or an exit code, after help or an error was printed.
[[nodiscard]] std::variant<Parsed, int> parse_arguments(int count, const char* const* arguments);

// The name in documents: "cluster status".
[[nodiscard]] std::string_view name_of(const Command& command);

}  // namespace quipu::cli
