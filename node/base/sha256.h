// sha256.h: SHA-256 (FIPS 180-4), by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace quipu {

using Sha256 = std::array<std::uint8_t, 32>;

// Any thread.
[[nodiscard]] Sha256 sha256(std::string_view bytes);

// Lower case, two digits for each byte.
[[nodiscard]] std::string in_hex(std::string_view bytes);
// The first 8 digits of the hash: enough to see that two texts differ.
[[nodiscard]] std::string short_digest(std::string_view text);

}  // namespace quipu
