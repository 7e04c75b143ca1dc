// one_line.h: text of a user, for an error or a log line.
#pragma once

#include <string>
#include <string_view>

namespace quipu {

// With \xNN for control characters, which may control a terminal or forge a line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace quipu
