// settings_toml.h: the settings that are in effect, as a file that would set them.
#pragma once

#include <string>

#include "node/settings/settings.h"
#include "quipu/status.h"

namespace quipu {

// Every setting, and behind each where it was written. quipud reads the same settings
// from it. invalid_argument: one is not UTF-8, and no TOML file can hold it.
// REQUIRES: no errors.
[[nodiscard]] Result<std::string> to_toml(const LoadedSettings& loaded);

}  // namespace quipu
