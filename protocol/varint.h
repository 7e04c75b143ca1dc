// varint.h: integers in as few bytes as they need: seven bits a byte, the lowest first; the
// top bit says that more follow. (LEB128; LevelDB's and Protocol Buffers' varint.)
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quipu {

// Maps small numbers of either sign to small unsigned ones: 0, -1, 1, -2 … to 0, 1, 2, 3 …
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t number) {
  return static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t number) {
  return static_cast<std::int64_t>(number >> 1 ^ (0 - (number & 1)));
}

[[nodiscard]] constexpr std::size_t varint_size(std::uint64_t number) {
  return static_cast<std::size_t>(std::bit_width(number | 1) + 6) / 7;
}

// Writes varint_size(number) bytes, and returns their end.
inline std::uint8_t* write_varint(std::uint8_t* to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<std::uint8_t>(number | 0x80);
  *to++ = static_cast<std::uint8_t>(number);
  return to;
}

inline void append_varint(std::string& to, std::uint64_t number) {
  if (number < 0x80) return to.push_back(static_cast<char>(number));
  std::uint8_t bytes[10];
  const std::uint8_t* const end = write_varint(bytes, number);
  to.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(end - bytes));
}

// Takes one varint off the front. Nothing if it is cut off or has more than 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t number = 0;
  for (unsigned i = 0, shift = 0; i < from.size() && shift < 64; ++i, shift += 7) {
    const auto byte = static_cast<std::uint8_t>(from[i]);
    const std::uint64_t bits = byte & 0x7f;
    if (bits << shift >> shift != bits) return std::nullopt;
    number |= bits << shift;
    if (byte >= 0x80) continue;
    from.remove_prefix(i + 1);
    return number;
  }
  return std::nullopt;
}

}  // namespace quipu
