// base64.h: RFC 4648, by OpenSSL. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quipu {

// The alphabet for URLs, without padding.
[[nodiscard]] std::string to_base64url(std::span<const std::uint8_t> bytes);
// The standard alphabet, with padding. Nothing: it is something else.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace quipu
