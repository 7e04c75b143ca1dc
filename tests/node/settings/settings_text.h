// settings_text.h: settings as load_settings() reads them, from text.
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/settings/settings.h"
#include "tests/node/temporary_directory.h"

namespace quipu::test {

using Variables = std::map<std::string, std::string>;
using Flags = std::vector<std::pair<std::string, std::string>>;

inline LoadedSettings load(const std::string& toml, const Variables& variables = {},
                           const Flags& flags = {}) {
  const TemporaryDirectory directory;
  const std::string file = directory / "quipu.toml";
  std::ofstream(file) << toml;
  LoadedSettings loaded =
      load_settings({.file = file,
                     .environment =
                         [&](const std::string& name) {
                           const auto at = variables.find(name);
                           return at == variables.end() ? std::nullopt : std::optional(at->second);
                         },
                     .flags = flags});
  // What remains of a place is "quipu.toml:3".
  for (std::string& error : loaded.errors) {
    const std::size_t at = error.find(directory.path().string());
    if (at != std::string::npos) error.erase(at, directory.path().string().size() + 1);
  }
  return loaded;
}

}  // namespace quipu::test
