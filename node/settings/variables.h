// variables.h: the environment variables that are ours, or nearly.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quipu {

// Its value, if it is set.
[[nodiscard]] std::optional<std::string> read_variable(const std::string& name);

// All that quipud and quipu read.
[[nodiscard]] std::vector<std::string> known_variables();

// One line for each of `names` that is none of ours, but a slip or two away from
// one: else the mistake would silently leave a default. Those that are farther away
// may be anybody's: Kubernetes gives a service named quipu a dozen.
[[nodiscard]] std::vector<std::string> mistyped_variables(std::span<const std::string> names);

// The names of what `environment` holds, which is as main's third argument.
[[nodiscard]] std::vector<std::string> names_of(const char* const* environment);

}  // namespace quipu
