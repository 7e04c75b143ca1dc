// log_level.h: the severity of a log line. A plain number, for any thread.
#pragma once

#include <cstdint>

namespace quipu {

// Ascending.
enum class LogLevel : std::uint8_t { debug, info, warning, error };

}  // namespace quipu
