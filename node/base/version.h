// version.h: what this build calls itself.
#pragma once

#include <string_view>

namespace quipu {

inline constexpr std::string_view kVersion = QUIPU_VERSION;
// The Redis whose replies RESP clients get.
inline constexpr std::string_view kRedisVersion = "7.4.0";

}  // namespace quipu
