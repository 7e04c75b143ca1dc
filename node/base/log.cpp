#include "node/base/log.h"

#include <algorithm>

namespace quipu {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != 0x7f && c != '"' && c != '=' && c != '\\';
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7f;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      break;
  }
  if (!is_control(c)) return out.push_back(c);
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\x").push_back(kHexDigits[byte >> 4]);
  out.push_back(kHexDigits[byte & 15]);
}

void append_value(std::string& out, std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), is_plain)) {
    out.append(value);
    return;
  }
  out.push_back('"');
  for (const char c : value) append_escaped(out, c);
  out.push_back('"');
}

// The character after a backslash at text[at]. Moves `at` behind it.
char unescape(std::string_view text, std::size_t& at) {
  const char c = text[at++];
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'x':
      break;
    default:
      return c;
  }
  std::size_t value = 0;
  for (int digit = 0; digit < 2 && at < text.size(); ++digit) {
    value = value * 16 + std::min(kHexDigits.find(text[at++]), std::size_t{15});
  }
  return static_cast<char>(value);
}

std::string take_quoted(std::string_view text, std::size_t& at) {
  std::string value;
  while (at < text.size() && text[at] != '"') {
    if (text[at] == '\\' && at + 1 < text.size()) {
      value.push_back(unescape(text, ++at));
    } else {
      value.push_back(text[at++]);
    }
  }
  ++at;  // the closing quote
  return value;
}

}  // namespace

std::string to_logfmt(std::span<const LogField> fields) {
  std::string text;
  for (const LogField& field : fields) {
    if (!text.empty()) text.push_back(' ');
    text.append(field.key).push_back('=');
    append_value(text, field.value);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> parse_logfmt(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    auto& [key, value] = fields.emplace_back(text.substr(at, equals - at), std::string());
    at = equals + 1;
    if (at < text.size() && text[at] == '"') {
      value = take_quoted(text, ++at);
    } else {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      value = text.substr(at, end - at);
      at = end;
    }
    ++at;  // the space
  }
  return fields;
}

Log Log::with(const LogField& field) const {
  if (!sink_) return *this;
  return Log([sink = sink_, first = to_logfmt(std::span(&field, 1))](
                 LogLevel level, std::string_view message, std::string_view fields) {
    sink(level, message, fields.empty() ? first : first + ' ' + std::string(fields));
  });
}

}  // namespace quipu
