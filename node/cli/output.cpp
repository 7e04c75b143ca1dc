#include "node/cli/output.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "node/base/level_names.h"
#include "node/base/tier_text.h"

namespace quipu::cli {
namespace {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      return "applied";
    case Outcome::not_applied:
      return "not_applied";
    case Outcome::unknown:
      break;
  }
  return "unknown";
}

// The first character of a text. bytes 0: the text does not begin with UTF-8.
struct Character {
  std::size_t bytes = 0;
  char32_t code = 0;
};

Character first_character(std::string_view text) {
  // The pattern of the first byte, its bits of the code point, and the lowest code point that
  // needs this many bytes.
  constexpr struct {
    unsigned mask, shape;
    char32_t least;
  } kLengths[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
  const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  for (std::size_t length = 1; length <= std::min<std::size_t>(text.size(), 4); ++length) {
    const auto& [mask, shape, least] = kLengths[length - 1];
    if ((byte(0) & mask) != shape) continue;
    char32_t code = byte(0) & ~mask & 0xff;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return {};
      code = code << 6 | (byte(i) & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < least || surrogate || code > 0x10ffff) return {};
    return {length, code};
  }
  return {};
}

// Controls, and characters that a terminal shows as nothing or as a change of direction or line.
bool is_control(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kUnseen[] = {
      {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
      {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
      {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(kUnseen), std::end(kUnseen), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

void put_bytes(nlohmann::json& object, const std::string& name, const std::string& bytes) {
  object[name] = bytes;
  if (!is_utf8(bytes)) object[name + "_escaped"] = printable(bytes);
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char code[5];
    std::snprintf(code, sizeof code, "\\x%02x", unsigned{static_cast<unsigned char>(c)});
    text += code;
  }
  return text;
}

}  // namespace

void complain(const std::string& text) { std::cerr << "quipu: " + text + "\n"; }

void print(const std::string& text) { std::cout << text + "\n"; }

void print_json(const nlohmann::json& value) { print(json_text(value)); }

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character next = first_character(bytes);
    const bool plain = next.bytes > 0 && !is_control(next.code) && next.code != U'\\';
    const std::string_view taken = bytes.substr(0, std::max<std::size_t>(next.bytes, 1));
    text += plain ? std::string(taken) : escaped(taken);
    bytes.remove_prefix(taken.size());
  }
  return text;
}

void put_key(nlohmann::json& object, const std::string& key) { put_bytes(object, "key", key); }

void put_item(nlohmann::json& object, const std::string& item) { put_bytes(object, "item", item); }

void put_namespace(nlohmann::json& object, const std::string& name) {
  put_bytes(object, "namespace", name);
}

void put_policy(nlohmann::json& object, const NamespacePolicy& policy) {
  for (const char* name : {"ack", "read", "shards", "ttl_ms", "decide", "tiers", "late_ms",
                           "strict", "kind", "precision"})
    object[name] = nullptr;
  if (policy.ack) object["ack"] = level_name(*policy.ack);
  if (policy.read) object["read"] = level_name(*policy.read);
  if (policy.shards) object["shards"] = *policy.shards;
  if (policy.ttl) object["ttl_ms"] = policy.ttl->count();
  if (policy.decide) object["decide"] = level_name(*policy.decide);
  if (!policy.tiers.empty()) object["tiers"] = to_text(policy.tiers);
  if (policy.late) object["late_ms"] = policy.late->count();
  if (policy.strict) object["strict"] = *policy.strict;
  if (policy.kind) object["kind"] = name_of(*policy.kind);
  if (policy.precision) object["precision"] = *policy.precision;
}

void put_value(nlohmann::json& object, std::optional<std::int64_t> value) {
  object["value"] = nullptr;
  object["value_text"] = nullptr;
  if (!value) return;
  object["value"] = *value;
  object["value_text"] = std::to_string(*value);
}

std::string message_of(const Status& status, std::string_view other_kind) {
  const CodeInfo& info = describe(status.code());
  std::string_view advice = info.advice;
  if (status.code() == Code::in_doubt)
    advice = "it may or may not be counted: look at the total before you repeat it";
  if (status.code() == Code::wrong_type && !other_kind.empty()) advice = other_kind;
  // Their details say what to do.
  if (status.code() == Code::unavailable || status.code() == Code::invalid_argument) advice = {};
  std::string text(info.name);
  if (!status.detail().empty()) text.append(": ").append(status.detail());
  if (!advice.empty()) text.append(" (").append(advice).append(")");
  return text;
}

std::string caveat(bool complete, std::optional<std::chrono::milliseconds> age) {
  // In a live cluster, an answer is at most some gossip intervals old.
  constexpr std::chrono::milliseconds kStale{1000};
  std::string text;
  if (!complete) text = "adds counted by a node that cannot be heard now may be missing";
  if (!age || *age > kStale) {
    if (!text.empty()) text += "; ";
    text += age ? "this is how it was " + for_people(age) + " ago" : "its age is unknown";
  }
  return text.empty() ? text : text + " (read with --fresh or --strong)";
}

void put_answer(nlohmann::json& object, const std::optional<Answered>& answer) {
  for (const char* const name : {"exists", "complete", "age_ms"}) object[name] = nullptr;
  object["caveat"] = answer ? caveat(answer->complete, answer->age) : "";
  if (!answer) return;
  object["exists"] = answer->exists;
  object["complete"] = answer->complete;
  if (answer->age) object["age_ms"] = answer->age->count();
}

void put_status(nlohmann::json& object, const Status& status) {
  object["code"] = describe(status.code()).name;
  object["outcome"] = name(status.outcome());
  object["message"] = status.ok() ? "" : message_of(status);
}

nlohmann::json document(std::string_view command, const Status& status) {
  nlohmann::json json{{"command", command}};
  put_status(json, status);
  return json;
}

std::string for_people(std::optional<std::chrono::milliseconds> duration) {
  using namespace std::chrono_literals;
  if (!duration) return "unknown";
  if (*duration < 1s) return std::to_string(duration->count()) + " ms";
  if (*duration >= 2min)
    return std::to_string(std::chrono::round<std::chrono::minutes>(*duration).count()) + " min";
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << std::chrono::duration<double>(*duration).count()
       << " s";
  return text.str();
}

std::string for_people(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

void Table::print() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    cli::print(line);
  }
}

}  // namespace quipu::cli
