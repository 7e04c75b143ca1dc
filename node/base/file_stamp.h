// file_stamp.h: shows whether a file was changed or replaced.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace quipu {

// With its inode, so that a file that is replaced within its timestamp's resolution is seen, too.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const FileStamp&) const = default;
};

// How often files that may change are looked at.
inline constexpr std::chrono::seconds kLookAtFiles{10};

// All zero: there is no such file.
[[nodiscard]] FileStamp stamp_of(const std::string& path);

}  // namespace quipu
