// leveldb_manifest.h: reads the one number of LevelDB's MANIFEST that we need.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quipu {

// One record of a MANIFEST is a VersionEdit: tagged fields of varints and length-prefixed
// strings. It may name the oldest log to replay.
struct VersionEdit {
  std::optional<std::uint64_t> log_number;
};

// Nothing if `record` is not a VersionEdit of LevelDB 1.
[[nodiscard]] std::optional<VersionEdit> parse_version_edit(std::string_view record);

}  // namespace quipu
