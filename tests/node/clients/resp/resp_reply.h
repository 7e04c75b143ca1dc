// resp_reply.h: splits RESP replies.
#pragma once

#include <string_view>

#include "protocol/resp.h"

namespace quipu::test {

// Takes one reply from the front. False: it is not RESP, or not complete yet; then `bytes` has
// lost a part of it.
// NOLINTNEXTLINE(misc-no-recursion): replies nest as deep as the server's own code does
inline bool take_reply(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == bytes.npos || end == 0) return false;
  const char type = bytes.front();
  const std::string_view line = bytes.substr(1, end - 1);
  bytes.remove_prefix(end + 2);
  if (type == '+' || type == '-') return line.find_first_of("\r\n") == line.npos;
  if (type == '_') return line.empty();
  if (type == '#') return line == "t" || line == "f";
  const auto number = to_integer(line);
  if (!number) return false;
  if (type == ':' || *number == -1) return type == ':' || type == '$' || type == '*';
  if (*number < 0) return false;
  const auto count = static_cast<std::size_t>(*number);
  if (type == '$' || type == '=') {
    const bool whole = bytes.size() >= count + 2 && bytes.substr(count, 2) == "\r\n";
    if (whole) bytes.remove_prefix(count + 2);
    return whole;
  }
  if (type != '*' && type != '~' && type != '%') return false;
  for (std::size_t i = 0; i < (type == '%' ? 2 * count : count); ++i)
    if (!take_reply(bytes)) return false;
  return true;
}

// The first reply's bytes; empty: it is not whole yet.
inline std::string_view first_reply(std::string_view bytes) {
  std::string_view rest = bytes;
  return take_reply(rest) ? bytes.substr(0, bytes.size() - rest.size()) : std::string_view();
}

}  // namespace quipu::test
