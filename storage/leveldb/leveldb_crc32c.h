// leveldb_crc32c.h: CRC-32C (Castagnoli), which LevelDB guards its logs with and
// does not export.
#pragma once

#include <cstdint>
#include <string_view>

namespace quipu {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

// As it stands beside the data: rotated and shifted, because the CRC of bytes
// that hold their own CRC detects less.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace quipu
