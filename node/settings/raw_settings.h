// raw_settings.h: settings as they were written, before they are interpreted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quipu {

struct RawSetting {
  std::string key;  // "node.name"; in a list: "weight"
  std::string text;
  std::string where;  // "quipu.toml:3", "QUIPU_NODE_NAME", "--name"
  // The type in the file. Variables and flags may be of any type that fits.
  enum class Type { any, text, number, yes_no, section, other } type = Type::any;
};

// An item of a list: a member, or a namespace.
struct RawItem {
  std::vector<RawSetting> fields;
  std::string where;
};

struct RawSettings {
  std::vector<RawSetting> settings;
  std::optional<std::vector<RawItem>> members;
  std::vector<RawItem> namespaces;
  std::vector<std::string> errors;
};

[[nodiscard]] RawSettings read_settings_file(const std::filesystem::path& path);

// "name=n1,peer=10.0.0.1:7401;name=n2,…"
[[nodiscard]] RawSettings read_member_list(std::string_view text, const std::string& where);

}  // namespace quipu
