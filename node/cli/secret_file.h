// secret_file.h: the secret that commands authenticate with. It is in a file: arguments and
// variables are seen by others on the machine.
#pragma once

#include <string>

#include "quipu/status.h"

namespace quipu::cli {

// The file's first line. invalid_argument: the text names the file and says what to do.
[[nodiscard]] Result<std::string> read_secret_file(const std::string& path);

}  // namespace quipu::cli
