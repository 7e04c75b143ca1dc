#include "node/settings/settings_toml.h"

#include <toml++/toml.h>

#include <sstream>

#include "node/base/duration_text.h"
#include "node/base/level_names.h"
#include "node/base/tier_text.h"
#include "node/settings/setting_table.h"

namespace quipu {
namespace {

std::string in_toml(const std::string& text) {
  using toml::format_flags;
  constexpr auto kOnOneLine =
      format_flags::allow_literal_strings | format_flags::allow_multi_line_strings;
  const toml::value<std::string> value(text);
  std::ostringstream out;
  out << toml::toml_formatter(value, toml::toml_formatter::default_flags & ~kOnOneLine);
  return out.str();
}

// Whether it can be read back. Text that is not UTF-8 cannot.
bool survives(const std::string& text) {
  try {
    return toml::parse("text = " + in_toml(text))["text"].value<std::string>() == text;
  } catch (const toml::parse_error&) {
    return false;
  }
}

std::string comment(const LoadedSettings& loaded, std::string_view key) {
  const auto at = loaded.places.find(key);
  return "  # " + (at == loaded.places.end() ? "default" : at->second) + '\n';
}

std::string members(const LoadedSettings& loaded) {
  const std::vector<NodeMember>& all = loaded.settings.node.members;
  if (all.empty()) return {};
  std::string text = "members = [" + comment(loaded, kMembersKey);
  for (const NodeMember& one : all) {
    text += "  {name = " + in_toml(one.name) + ", peer = " + in_toml(one.peer_address) +
            ", client = " + in_toml(one.client_address) + ", zone = " + in_toml(one.zone) +
            ", weight = " + std::to_string(one.weight) + "},\n";
  }
  return text + "]\n";
}

std::string namespaces(const LoadedSettings& loaded) {
  std::string text;
  for (const Namespace& one : loaded.settings.node.namespaces) {
    const NamespacePolicy& policy = one.policy;
    text += "\n[[namespace]]" + comment(loaded, "namespace." + one.name);
    text += "name = " + in_toml(one.name) + '\n';
    if (policy.ack) text += "ack = " + in_toml(std::string(level_name(*policy.ack))) + '\n';
    if (policy.read) text += "read = " + in_toml(std::string(level_name(*policy.read))) + '\n';
    if (policy.shards) text += "shards = " + std::to_string(*policy.shards) + '\n';
    if (policy.ttl) text += "ttl = " + in_toml(to_text(*policy.ttl)) + '\n';
    if (policy.decide)
      text += "decide = " + in_toml(std::string(level_name(*policy.decide))) + '\n';
    if (!policy.tiers.empty()) text += "tiers = " + in_toml(to_text(policy.tiers)) + '\n';
    if (policy.late) text += "late = " + in_toml(to_text(*policy.late)) + '\n';
    if (policy.strict)
      text += std::string("strict = ") + (*policy.strict ? "true" : "false") + '\n';
  }
  return text;
}

std::string all_tables(const LoadedSettings& loaded) {
  std::string text;
  std::string_view table;
  for (const SettingRow& row : setting_table()) {
    if (row.table() != table) {
      text.append(table.empty() ? "[" : "\n[").append(row.table()).append("]\n");
      table = row.table();
      if (kMembersKey.starts_with(table)) text += members(loaded);
    }
    const std::string value = row.show(loaded.settings);
    text.append(row.name()).append(" = ");
    text +=
        (row.type == RawSetting::Type::text ? in_toml(value) : value) + comment(loaded, row.key);
  }
  return text + namespaces(loaded);
}

// The first setting that a TOML file cannot hold. Empty: none.
std::string_view untellable(const LoadedSettings& loaded) {
  for (const auto& [key, place] : loaded.places)
    if (!survives(place)) return key;
  for (const SettingRow& row : setting_table())
    if (!survives(row.show(loaded.settings))) return row.key;
  for (const NodeMember& one : loaded.settings.node.members) {
    for (const auto* text : {&one.name, &one.peer_address, &one.client_address, &one.zone})
      if (!survives(*text)) return kMembersKey;
  }
  for (const Namespace& one : loaded.settings.node.namespaces)
    if (!survives(one.name)) return "namespace";
  return {};
}

}  // namespace

Result<std::string> to_toml(const LoadedSettings& loaded) {
  const std::string_view odd = untellable(loaded);
  if (odd.empty()) return all_tables(loaded);
  return Status{Code::invalid_argument, std::string(odd) +
                                            ", or where it was written, is not UTF-8, and TOML "
                                            "holds nothing else"};
}

}  // namespace quipu
