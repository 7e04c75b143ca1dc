// quipu config show: the settings that quipud would run with, and where each comes from.
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>

#include "node/cli/commands.h"
#include "node/cli/output.h"
#include "node/settings/setting_table.h"
#include "node/settings/settings_toml.h"
#include "node/settings/variables.h"

namespace quipu::cli {
namespace {

// With the setting's type.
nlohmann::json typed(RawSetting::Type type, const std::string& text) {
  if (type == RawSetting::Type::yes_no) return text == "true";
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (type == RawSetting::Type::number && whole) return number;
  return text;
}

std::string place_of(const LoadedSettings& loaded, std::string_view key) {
  const auto at = loaded.places.find(key);
  return at == loaded.places.end() ? "default" : at->second;
}

nlohmann::json settings_json(const LoadedSettings& loaded) {
  nlohmann::json all = nlohmann::json::array();
  for (const SettingRow& row : setting_table()) {
    all.push_back({{"setting", row.key},
                   {"value", typed(row.type, row.show(loaded.settings))},
                   {"place", place_of(loaded, row.key)}});
  }
  return all;
}

nlohmann::json members_json(const LoadedSettings& loaded) {
  nlohmann::json all = nlohmann::json::array();
  for (const NodeMember& one : loaded.settings.node.members) {
    all.push_back({{"name", one.name},
                   {"peer", one.peer_address},
                   {"client", one.client_address},
                   {"zone", one.zone},
                   {"weight", one.weight}});
  }
  return all;
}

nlohmann::json namespaces_json(const LoadedSettings& loaded) {
  nlohmann::json all = nlohmann::json::array();
  for (const Namespace& one : loaded.settings.node.namespaces) {
    nlohmann::json& object = all.emplace_back();
    put_namespace(object, one.name);
    put_policy(object, one.policy);
    object["place"] = place_of(loaded, "namespace." + one.name);
  }
  return all;
}

nlohmann::json to_json(const LoadedSettings& loaded) {
  std::string errors;
  for (const std::string& error : loaded.errors) errors += (errors.empty() ? "" : "; ") + error;
  const Status status = errors.empty() ? Status() : Status(Code::invalid_argument, errors);
  nlohmann::json json = document("config show", status);
  json["errors"] = loaded.errors;
  json["settings"] = json["members"] = json["namespaces"] = nlohmann::json::array();
  if (!loaded.errors.empty()) return json;
  json["settings"] = settings_json(loaded);
  json["members"] = members_json(loaded);
  json["namespaces"] = namespaces_json(loaded);
  return json;
}

}  // namespace

int run(const Environment& environment, const ConfigShowCommand& command) {
  const LoadedSettings loaded =
      load_settings({.file = command.file, .environment = read_variable, .flags = command.flags});
  for (const std::string& error : loaded.errors) complain(error);
  if (environment.json) print_json(to_json(loaded));
  if (!loaded.errors.empty()) return kFailed;
  if (environment.json) return kOk;
  const Result<std::string> text = to_toml(loaded);
  if (text.ok()) {
    std::cout << *text;
    return kOk;
  }
  complain(text.status().detail());
  return kFailed;
}

}  // namespace quipu::cli
