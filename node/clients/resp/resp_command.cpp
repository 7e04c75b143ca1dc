#include "node/clients/resp/resp_command.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "cluster/changes/decision.h"

namespace quipu {
namespace {

constexpr std::size_t kLongestName = 32;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::vector<RespCommand> all_commands() {
  std::vector<RespCommand> all;
  for (const auto family :
       {counter_commands(), value_commands(), expiry_commands(), reset_commands(),
        transaction_commands(), script_commands(), keyspace_commands(), client_commands(),
        user_commands(), introspection_commands(), catalogue_commands(), cluster_commands(),
        quipu_commands(), namespace_commands(), window_commands(), distinct_commands(),
        frequency_commands(), maximum_commands(), top_commands()})
    all.insert(all.end(), family.begin(), family.end());
  for (RespCommand& command : all) {
    if (command.keys.any()) command.needs = command.needs | kEveryKey;
  }
  std::sort(all.begin(), all.end(),
            [](const RespCommand& a, const RespCommand& b) { return a.name < b.name; });
  return all;
}

// Commands first, in their order; then the subcommands of the first that has some, and so on.
struct Numbers {
  std::vector<std::size_t> subcommands;  // of each command: its first one's
  std::vector<std::string> names;
};

Numbers number_all() {
  Numbers numbers;
  for (const RespCommand& command : resp_commands()) numbers.names.emplace_back(command.name);
  for (const RespCommand& command : resp_commands()) {
    numbers.subcommands.push_back(numbers.names.size());
    for (const RespCommand& sub : command.subcommands)
      numbers.names.push_back(std::string(command.name) + '|' + std::string(sub.name));
  }
  return numbers;
}

const Numbers& numbers() {
  static const Numbers all = number_all();
  return all;
}

// Whether `c` is in the class at the front of `pattern`, behind its '['. Moves it behind the
// class's end.
bool in_class(std::string_view& pattern, char c) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  bool found = false;
  while (!pattern.empty() && pattern.front() != ']') {
    if (pattern.front() == '\\' && pattern.size() > 1) {
      found |= pattern[1] == c;
      pattern.remove_prefix(2);
    } else if (pattern.size() > 2 && pattern[1] == '-') {
      const auto [low, high] = std::minmax(pattern[0], pattern[2]);
      found |= low <= c && c <= high;
      pattern.remove_prefix(3);
    } else {
      found |= pattern.front() == c;
      pattern.remove_prefix(1);
    }
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return found != negated;
}

// Whether the pattern's first part, which is not a star, matches `c`. Moves behind it.
bool takes(std::string_view& pattern, char c) {
  const char first = pattern.front();
  pattern.remove_prefix(1);
  if (first == '?') return true;
  if (first == '[') return in_class(pattern, c);
  if (first != '\\' || pattern.empty()) return first == c;
  const char escaped = pattern.front();
  pattern.remove_prefix(1);
  return escaped == c;
}

// These do not change if it is asked again.
bool is_final(Code code) {
  return code == Code::invalid_argument || code == Code::out_of_range || code == Code::wrong_type;
}

}  // namespace

std::span<const RespCommand> resp_commands() {
  static const std::vector<RespCommand> all = all_commands();
  return all;
}

std::size_t number_of(const RespCommand& command, const RespCommand* container) {
  const RespCommand& top = container == nullptr ? command : *container;
  const auto index = static_cast<std::size_t>(&top - resp_commands().data());
  if (container == nullptr) return index;
  return numbers().subcommands[index] +
         static_cast<std::size_t>(&command - container->subcommands.data());
}

const std::vector<std::string>& command_names() { return numbers().names; }

std::size_t command_numbers() { return numbers().names.size(); }

KeyPlaces key_places(const RespCommand& command, RespConnection::Words words) {
  const auto& [first, last, step, access, count] = command.keys;
  if (count > 0) {
    const auto begin = static_cast<std::size_t>(count) + 1;
    const auto keys = to_integer(words[begin - 1]);
    if (!keys || *keys < 0 || static_cast<std::size_t>(*keys) > words.size() - begin) return {};
    return {.first = begin, .end = begin + static_cast<std::size_t>(*keys)};
  }
  if (first == 0) return {};
  const auto past = static_cast<std::size_t>(last) + 1 + (last < 0 ? words.size() : 0);
  return {.first = static_cast<std::size_t>(first),
          .end = std::min(past, words.size()),
          .step = static_cast<std::size_t>(step)};
}

std::string command_name(const RespCommand& command, const RespCommand* container) {
  const std::string name(command.name);
  return container == nullptr ? name : std::string(container->name) + '|' + name;
}

std::string not_permitted(const Permit& permit, std::string_view command) {
  return "NOPERM User " + permit.user() + " has no permissions to run the '" +
         std::string(command) + "' command";
}

const RespCommand* find_command(std::string_view name) {
  static const std::unordered_map<std::string_view, const RespCommand*> by_name = [] {
    std::unordered_map<std::string_view, const RespCommand*> all;
    for (const RespCommand& command : resp_commands()) all.emplace(command.name, &command);
    return all;
  }();
  if (name.size() > kLongestName) return nullptr;
  std::array<char, kLongestName> wanted;
  std::transform(name.begin(), name.end(), wanted.begin(), lower);
  const auto at = by_name.find(std::string_view(wanted.data(), name.size()));
  return at != by_name.end() ? at->second : nullptr;
}

const RespCommand* find_subcommand(const RespCommand& command, std::string_view name) {
  const auto at =
      std::find_if(command.subcommands.begin(), command.subcommands.end(),
                   [name](const RespCommand& sub) { return same_word(name, sub.name); });
  return at == command.subcommands.end() ? nullptr : &*at;
}

bool same_word(std::string_view word, std::string_view lowered) {
  return std::equal(word.begin(), word.end(), lowered.begin(), lowered.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(text.begin(), text.end(), result.begin(), lower);
  return result;
}

std::string raised(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

// A star first matches nothing. If the rest then fails, the last star matches one more.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.size() > kMaxPattern) return false;
  std::optional<std::string_view> star;  // the pattern behind it
  std::string_view taken;                // the text behind what it takes
  while (!text.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      star = pattern;
      taken = text;
      continue;
    }
    if (!pattern.empty() && takes(pattern, text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (!star) return false;
    taken.remove_prefix(1);
    pattern = *star;
    text = taken;
  }
  return pattern.find_first_not_of('*') == pattern.npos;
}

std::string reason(Code code, std::string_view detail) {
  std::string text(describe(code).name);
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

namespace {

std::string wrong_type(std::string_view detail) {
  return detail.empty() || detail.starts_with(kOtherKind) ? std::string(kWrongType)
                                                          : "WRONGTYPE " + std::string(detail);
}

}  // namespace

std::string change_error(Code code, std::string_view detail) {
  if (code == Code::ok)
    return "PARTIAL the change was applied, but its reply cannot be read: are all members of one "
           "release?";
  if (code == Code::out_of_range) return "ERR increment or decrement would overflow";
  if (code == Code::wrong_type) return wrong_type(detail);
  if (code == Code::invalid_argument || code == Code::undefined_namespace)
    return "ERR " + std::string(detail);
  if (describe(code).outcome == Outcome::unknown)
    return "INDOUBT " + reason(code, detail) + " (it may still count: do not simply repeat it)";
  return "NOTAPPLIED " + reason(code, detail).append(kNothingChanged);
}

// A client, or its library, may have sent the same words before, and they may still be on their
// way. So a refusal does not prove that the add does not count, unless every attempt would get
// that refusal.
std::string token_error(Code code, std::string_view detail) {
  if (is_final(code)) return change_error(code, detail);
  const std::string why = reason(code, detail);
  switch (code) {
    case Code::token_reused:
      return "ERR " + why + " (this add does not count: give it another number)";
    case Code::token_expired:
    case Code::executor_gone:
      return "INDOUBT " + why + " (it cannot be found out any more whether it counted)";
    case Code::session_window:
      return "INDOUBT " + why +
             " (raise FLOOR and send it again; an add that was never sent before did not count, "
             "and may go with another session)";
    default:
      return "INDOUBT " + why + " (send the same words again, to any node: they count once)";
  }
}

std::string read_error(Code code, std::string_view detail) {
  if (code == Code::wrong_type) return std::string(kWrongType);
  return is_final(code) ? "ERR " + std::string(detail) : "UNAVAILABLE " + reason(code, detail);
}

std::string unread_error(Code code, std::string_view detail) {
  return is_final(code) ? read_error(code, detail) : change_error(code, detail);
}

}  // namespace quipu
