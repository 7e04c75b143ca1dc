// variables.h: names of environment variables that are nearly ours. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace quipu {

// All that quipud and quipu read.
[[nodiscard]] std::vector<std::string> known_variables();

// One line for each of `names` that is none of ours, but a slip or two away from
// one: else the mistake would silently leave a default. Those that are farther away
// may be anybody's: Kubernetes gives a service named quipu a dozen.
[[nodiscard]] std::vector<std::string> mistyped_variables(std::span<const std::string> names);

// The names of what `environment` holds, which is as main's third argument.
[[nodiscard]] std::vector<std::string> names_of(const char* const* environment);

}  // namespace quipu
