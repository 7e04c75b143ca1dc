#include "node/settings/changed_settings.h"

#include <map>

#include "node/settings/setting_table.h"

namespace quipu {
namespace {

std::map<std::string, NamespacePolicy> by_name(const std::vector<Namespace>& namespaces) {
  std::map<std::string, NamespacePolicy> all;
  for (const Namespace& one : namespaces) all.emplace(one.name, one.policy);
  return all;
}

}  // namespace

std::vector<ChangedSetting> changed_settings(const Settings& before, const Settings& after) {
  std::vector<ChangedSetting> changed;
  for (const SettingRow& row : setting_table()) {
    if (std::string value = row.show(after); value != row.show(before))
      changed.push_back({std::string(row.key), std::move(value), row.reloads});
  }
  if (before.node.members != after.node.members) changed.push_back({std::string(kMembersKey)});
  const auto old = by_name(before.node.namespaces);
  const auto current = by_name(after.node.namespaces);
  auto names = old;
  names.insert(current.begin(), current.end());
  for (const auto& [name, policy] : names) {
    const auto was = old.find(name);
    const auto is = current.find(name);
    if (was == old.end() || is == current.end() || was->second != is->second)
      changed.push_back({"namespace." + name});
  }
  return changed;
}

void take_reloaded(Settings& settings, const Settings& after) {
  for (const SettingRow& row : setting_table()) {
    if (row.reloads) static_cast<void>(row.set(settings, row.show(after)));  // it is sound
  }
}

}  // namespace quipu
