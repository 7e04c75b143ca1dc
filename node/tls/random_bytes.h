// random_bytes.h: random bytes that are fit for secrets, from the system's generator. Any thread.
#pragma once

#include <array>
#include <cstdint>

namespace quipu {

using RandomBytes = std::array<std::uint8_t, 32>;
[[nodiscard]] RandomBytes random_bytes();

}  // namespace quipu
