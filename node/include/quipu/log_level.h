// log_level.h: how much a line of a node's log matters.
#pragma once

#include <cstdint>

namespace quipu {

// Ascending.
enum class LogLevel : std::uint8_t { debug, info, warning, error };

}  // namespace quipu
