// variables.h: the environment variables of Quipu, and those that look like them.
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

// One line for each of `names` that is not ours, but a slip or two away from one: that mistake
// would silently leave a default. Names that are farther away may belong to other software:
// Kubernetes gives a service named quipu a dozen.
[[nodiscard]] std::vector<std::string> mistyped_variables(std::span<const std::string> names);

// The names in `environment`, which is like main's third argument.
[[nodiscard]] std::vector<std::string> names_of(const char* const* environment);

}  // namespace quipu
