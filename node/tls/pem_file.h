// pem_file.h: reads a small file of certificates, keys or secrets. Any thread.
#pragma once

#include <string>

#include "quipu/status.h"

namespace quipu {

inline constexpr std::size_t kMaxPemFile = std::size_t{1} << 20;

// invalid_argument: names the file and what to do.
[[nodiscard]] Result<std::string> read_pem_file(const std::string& path);

}  // namespace quipu
