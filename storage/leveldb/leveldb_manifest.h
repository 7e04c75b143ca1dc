// leveldb_manifest.h: the one number that we need of LevelDB's MANIFEST.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace quipu {

// One record of a MANIFEST is a VersionEdit: tagged fields of varints and
// length-prefixed strings. Each may say from which log on all are replayed.
struct VersionEdit {
  std::optional<std::uint64_t> log_number;
};

// Nothing if `record` is not a VersionEdit of LevelDB 1.
[[nodiscard]] std::optional<VersionEdit> parse_version_edit(std::string_view record);

}  // namespace quipu
