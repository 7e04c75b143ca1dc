// arguments.h: the command line, checked as far as that needs no node.
#pragma once

#include <string>
#include <variant>

#include "node/cli/commands.h"

namespace quipu::cli {

using Command = std::variant<AddCommand, GetCommand, ResetCommand, ShardsCommand, ListCommand,
                             IngestCommand, StatusCommand, ConfigShowCommand, BenchCommand>;

struct Parsed {
  Environment environment;
  Command command;
};

// Either what to do, or an exit code: help was printed, or a complaint was made.
[[nodiscard]] std::variant<Parsed, int> parse_arguments(int count, const char* const* arguments);

}  // namespace quipu::cli
