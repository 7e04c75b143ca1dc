// changed_settings.h: what differs between the settings in effect and those that were read again.
#pragma once

#include <string>
#include <vector>

#include "node/settings/settings.h"

namespace quipu {

struct ChangedSetting {
  std::string key;       // "node.log_level", "cluster.members", "namespace.likes"
  std::string value{};   // that it has now; not for members and namespaces
  bool reloads = false;  // else only a restart applies it
};

// In the order of setting_table(), then the members and the namespaces.
[[nodiscard]] std::vector<ChangedSetting> changed_settings(const Settings& before,
                                                           const Settings& after);

// Gives the settings that a reload applies the values that they have in `after`.
void take_reloaded(Settings& settings, const Settings& after);

}  // namespace quipu
