// Computes what COMMAND DOCS says about a command's arguments from its syntax text:
//
//   key increment:integer       a name, and its type if that is neither `key` nor string
//   member...                   one or more
//   [COUNT count:integer]       may be left out; words without small letters are sent as they are
//   ASYNC|SYNC                  one of these
//   [AUTH username password]    several that belong together
#include <algorithm>
#include <string>
#include <vector>

#include "node/clients/resp/resp_command.h"

namespace quipu {
namespace {

struct Argument {
  std::string name;
  std::string_view type;
  std::string_view token{};
  bool optional = false;
  bool multiple = false;
  std::vector<Argument> arguments{};  // of a block, or which one may be
};

constexpr std::string_view kMultiple = "...";

bool is_token(std::string_view word) {
  return std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

Argument named(std::string_view word) {
  Argument argument;
  argument.multiple = word.ends_with(kMultiple);
  if (argument.multiple) word.remove_suffix(kMultiple.size());
  const std::size_t end = std::min(word.find(':'), word.size());
  argument.name = word.substr(0, end);
  argument.type = end < word.size()        ? word.substr(end + 1)
                  : argument.name == "key" ? "key"
                                           : "string";
  return argument;
}

Argument token(std::string_view word) { return {lowered(word), "pure-token", word}; }

Argument one_of(std::string_view words) {
  Argument argument{{}, "oneof"};
  while (!words.empty()) {
    const std::size_t end = std::min(words.find('|'), words.size());
    argument.arguments.push_back(token(words.substr(0, end)));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  argument.name = argument.arguments.front().name;
  return argument;
}

Argument together(std::vector<Argument>&& parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return {parts.front().name, "block", {}, false, false, std::move(parts)};
}

// Takes everything up to the end, or to the bracket that closes a group.
std::vector<Argument> read(std::string_view& syntax) {
  std::vector<Argument> arguments;
  while (!syntax.empty() && syntax.front() != ']') {
    if (syntax.front() == ' ') {
      syntax.remove_prefix(1);
    } else if (syntax.front() == '[') {
      syntax.remove_prefix(1);
      arguments.push_back(together(read(syntax)));
      arguments.back().optional = true;
      syntax.remove_prefix(1);
    } else {
      const std::string_view word = syntax.substr(0, syntax.find_first_of(" []"));
      syntax.remove_prefix(word.size());
      const bool last = syntax.empty() || syntax.front() == ']';
      if (!is_token(word)) {
        arguments.push_back(named(word));
      } else if (word.find('|') != word.npos) {
        arguments.push_back(one_of(word));
      } else if (last) {
        arguments.push_back(token(word));
      } else {  // the name of all that follows in this group
        arguments.push_back(together(read(syntax)));
        if (!arguments.back().arguments.empty()) arguments.back().name = lowered(word);
        arguments.back().token = word;
      }
    }
  }
  return arguments;
}

void write(RespWriter& to, const std::vector<Argument>& arguments);

void write(RespWriter& to, const Argument& argument) {
  const bool key = argument.type == "key";
  const std::size_t flags = (argument.optional ? 1u : 0u) + (argument.multiple ? 1u : 0u);
  to.map(2 + (key ? 1u : 0u) + (argument.token.empty() ? 0u : 1u) + (flags > 0 ? 1u : 0u) +
         (argument.arguments.empty() ? 0u : 1u));
  to.bulk("name");
  to.bulk(argument.name);
  to.bulk("type");
  to.bulk(argument.type);
  if (key) {
    to.bulk("key_spec_index");
    to.integer(0);
  }
  if (!argument.token.empty()) {
    to.bulk("token");
    to.bulk(argument.token);
  }
  if (flags > 0) {
    to.bulk("flags");
    to.set(flags);
    if (argument.optional) to.simple("optional");
    if (argument.multiple) to.simple("multiple");
  }
  if (!argument.arguments.empty()) {
    to.bulk("arguments");
    write(to, argument.arguments);
  }
}

void write(RespWriter& to, const std::vector<Argument>& arguments) {
  to.array(arguments.size());
  for (const Argument& argument : arguments) write(to, argument);
}

}  // namespace

void write_arguments(RespWriter& to, std::string_view syntax) { write(to, read(syntax)); }

}  // namespace quipu
