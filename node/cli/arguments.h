// arguments.h: the command line, checked as far as that needs no node.
#pragma once

#include <string_view>
#include <variant>

#include "node/cli/commands.h"

namespace quipu::cli {

using Command = std::variant<AddCommand, GetCommand, ResetCommand, ShardsCommand, ListCommand,
                             IngestCommand, StatusCommand, ConfigShowCommand, BenchCommand>;

struct Parsed {
  Environment environment;
  Command command;
};

// Either what to do, or an exit code: help was printed, or what is wrong was said.
[[nodiscard]] std::variant<Parsed, int> parse_arguments(int count, const char* const* arguments);

// As in a document: "cluster status".
[[nodiscard]] std::string_view name_of(const Command& command);

}  // namespace quipu::cli
