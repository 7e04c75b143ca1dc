// leveldb_crc32c.h: CRC-32C (Castagnoli), the checksum of LevelDB's logs, which LevelDB does
// not export.
#pragma once

#include <cstdint>
#include <string_view>

namespace quipu {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

// As stored beside the data: rotated and shifted, since the CRC of bytes that contain their
// own CRC detects less.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace quipu
