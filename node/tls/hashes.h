// hashes.h: SHA-256 and SHA-1 (FIPS 180-4), by OpenSSL, and hexadecimal text. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quipu {

using Sha256 = std::array<std::uint8_t, 32>;
using Sha1 = std::array<std::uint8_t, 20>;

[[nodiscard]] Sha256 sha256(std::string_view bytes);
// For the names that Redis gives to scripts. No defence against forgery.
[[nodiscard]] Sha1 sha1(std::string_view bytes);
// Takes the same time wherever they differ.
[[nodiscard]] bool equal(const Sha256& a, const Sha256& b);

// Lower case, two digits for each byte.
[[nodiscard]] std::string in_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string in_hex(std::string_view bytes);
// Either case. False: it is not hexadecimal, or of another length. `to` may be half filled then.
[[nodiscard]] bool from_hex(std::string_view text, std::span<std::uint8_t> to);
// The first 8 digits of the SHA-256: enough to see that two texts differ.
[[nodiscard]] std::string short_digest(std::string_view text);

}  // namespace quipu
