// version.h: the version of this build.
#pragma once

#include <string_view>

namespace quipu {

inline constexpr std::string_view kVersion = QUIPU_VERSION;
// The Redis version whose replies RESP clients get.
inline constexpr std::string_view kRedisVersion = "7.4.0";

}  // namespace quipu
