#include "node/settings/raw_settings.h"

#include <toml++/toml.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace quipu {
namespace {

constexpr std::string_view kMembers = "cluster.members";
constexpr std::string_view kNamespaces = "namespace";

std::string place(const std::string& file, const toml::source_region& source) {
  return file + ":" + std::to_string(source.begin.line);
}

RawSetting to_raw(std::string key, const toml::node& node, const std::string& file) {
  using Type = RawSetting::Type;
  RawSetting raw{std::move(key), {}, place(file, node.source()), Type::other};
  if (const auto* text = node.as_string()) {
    raw.text = text->get();
    raw.type = Type::text;
  } else if (const auto* number = node.as_integer()) {
    raw.text = std::to_string(number->get());
    raw.type = Type::number;
  } else if (const auto* yes_no = node.as_boolean()) {
    raw.text = yes_no->get() ? "true" : "false";
    raw.type = Type::yes_no;
  } else if (node.is_table()) {
    raw.type = Type::section;
  }
  return raw;
}

std::string key_text(const toml::key& key) { return std::string(key.str()); }

// `wrong_list` and `wrong_item`: what to say about other values.
std::vector<RawItem> read_list(const toml::node& node, const std::string& file,
                               const char* wrong_list, const char* wrong_item, RawSettings& raw) {
  std::vector<RawItem> items;
  const toml::array* const list = node.as_array();
  if (list == nullptr) {
    raw.errors.push_back(place(file, node.source()) + ": " + wrong_list);
    return items;
  }
  for (const toml::node& one : *list) {
    const toml::table* const table = one.as_table();
    if (table == nullptr) {
      raw.errors.push_back(place(file, one.source()) + ": " + wrong_item);
      continue;
    }
    RawItem& item = items.emplace_back();
    item.where = place(file, one.source());
    for (const auto& [key, value] : *table)
      item.fields.push_back(to_raw(key_text(key), value, file));
  }
  return items;
}

void read_table(const std::string& prefix, const toml::table& table, const std::string& file,
                RawSettings& raw) {
  for (const auto& [key, value] : table) {
    const std::string name = prefix + key_text(key);
    if (name == kMembers) {
      raw.members = read_list(value, file, "cluster.members must be a list of {name = …, peer = …}",
                              "a member must be {name = …, peer = …}", raw);
    } else if (name == kNamespaces) {
      raw.namespaces = read_list(value, file, "a namespace begins with [[namespace]]",
                                 "a namespace must be {name = …, ack = …}", raw);
    } else if (const toml::table* const inner = value.as_table();
               inner != nullptr && prefix.empty() && !inner->empty()) {
      read_table(name + ".", *inner, file, raw);
    } else {
      raw.settings.push_back(to_raw(name, value, file));
    }
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Cuts off the text before the next `separator`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return trim(head);
}

RawItem read_member(std::string_view text, const std::string& where, RawSettings& raw) {
  RawItem member{{}, where};
  while (!text.empty()) {
    std::string_view field = take_until(text, ',');
    if (field.find('=') == std::string_view::npos) {
      raw.errors.push_back(where + ": \"" + std::string(field) +
                           "\" is no field: write name=…,peer=…,client=…;name=…");
      continue;
    }
    const std::string key(take_until(field, '='));
    member.fields.push_back({key, std::string(trim(field)), where, RawSetting::Type::any});
  }
  return member;
}

}  // namespace

RawSettings read_settings_file(const std::filesystem::path& path) {
  RawSettings raw;
  const std::string file = path.string();
  std::ifstream in(path, std::ios::binary);
  std::string text;
  // Not iterators: they throw for a directory.
  for (std::array<char, 4096> part; in.read(part.data(), part.size()) || in.gcount() > 0;) {
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  const std::error_code reason(errno, std::generic_category());
  if (!in.is_open() || in.bad()) {
    raw.errors.push_back(file + ": cannot be read: " + reason.message());
    return raw;
  }
  try {
    read_table("", toml::parse(text, file), file, raw);
  } catch (const toml::parse_error& error) {
    raw.errors.push_back(place(file, error.source()) + ": " + std::string(error.description()));
  }
  return raw;
}

RawSettings read_member_list(std::string_view text, const std::string& where) {
  RawSettings raw;
  raw.members.emplace();
  while (!text.empty()) {
    const std::string_view member = take_until(text, ';');
    if (!member.empty()) raw.members->push_back(read_member(member, where, raw));
  }
  return raw;
}

}  // namespace quipu
