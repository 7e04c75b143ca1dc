// quipu config show: what quipud would run with, and where each setting comes from.
#include <iostream>

#include "node/cli/commands.h"
#include "node/cli/output.h"
#include "node/settings_toml.h"
#include "node/variables.h"

namespace quipu::cli {

int run(const Environment&, const ConfigShowCommand& command) {
  const LoadedSettings loaded =
      load_settings({.file = command.file, .environment = read_variable, .flags = command.flags});
  for (const std::string& error : loaded.errors) complain(error);
  if (!loaded.errors.empty()) return kFailed;
  const Result<std::string> text = to_toml(loaded);
  if (text.ok()) {
    std::cout << *text;
    return kOk;
  }
  complain(text.status().detail());
  return kFailed;
}

}  // namespace quipu::cli
