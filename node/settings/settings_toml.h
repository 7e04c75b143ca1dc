// settings_toml.h: the settings in effect, as a file that would set them.
#pragma once

#include <string>

#include "node/settings/settings.h"
#include "quipu/status.h"

namespace quipu {

// Every setting, each with its place of origin. quipud reads the same settings from this text.
// invalid_argument: a setting is not UTF-8, so a TOML file cannot hold it.
// REQUIRES: no errors.
[[nodiscard]] Result<std::string> to_toml(const LoadedSettings& loaded);

}  // namespace quipu
