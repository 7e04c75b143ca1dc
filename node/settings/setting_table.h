// setting_table.h: every setting but the members: its name, its allowed values, and its place
// in Settings. Reading, help and `quipu config show` use it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "node/reactor/node_plan.h"
#include "node/settings/raw_settings.h"
#include "node/settings/settings.h"

namespace quipu {

struct SettingRow {
  std::string_view key;  // "node.name"
  const char* variable;
  std::string_view flag{};  // empty: none
  std::string_view help{};
  bool reloads = false;  // a reload applies it; other settings need a restart
  RawSetting::Type type{};
  // Returns what is wrong with the text, or nothing.
  std::string (*set)(Settings&, const std::string& text) = nullptr;
  // The text that would set the current value.
  std::string (*show)(const Settings&) = nullptr;

  // "node"
  [[nodiscard]] std::string_view table() const { return key.substr(0, key.find('.')); }
  [[nodiscard]] std::string_view name() const { return key.substr(key.find('.') + 1); }
};

// A table's settings are together, in the order of deploy/quipud.example.toml.
[[nodiscard]] std::span<const SettingRow> setting_table();

// Puts a number within the range into `to`, or returns what is wrong.
[[nodiscard]] std::string read_number(Bounds range, const std::string& text, std::uint64_t& to);

}  // namespace quipu
