// COMMAND, and every HELP: the commands of this server.
#include <algorithm>
#include <array>

#include "node/clients/resp/resp_command.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

void write_set(RespWriter& to, std::string_view words) {
  const auto parts = split(words);
  to.set(parts.size());
  for (const std::string_view part : parts) to.simple(part);
}

// Further hints about a command for Redis's proxies and cluster clients.
struct Tips {
  std::string_view name;  // "client|list"
  std::string_view tips;
};
constexpr std::string_view kAnyOutput = "nondeterministic_output";
constexpr std::string_view kEachKeysShard = "request_policy:multi_shard response_policy:agg_sum";
constexpr std::string_view kAllShards = "request_policy:all_shards response_policy:all_succeeded";
constexpr std::string_view kAllNodes = "request_policy:all_nodes response_policy:all_succeeded";
constexpr auto kTips = std::to_array<Tips>({
    {"client|info", kAnyOutput},
    {"client|list", kAnyOutput},
    {"client|setinfo", kAllNodes},
    {"cluster|bumpepoch", kAnyOutput},
    {"cluster|count-failure-reports", kAnyOutput},
    {"cluster|getkeysinslot", kAnyOutput},
    {"cluster|info", kAnyOutput},
    {"cluster|links", kAnyOutput},
    {"cluster|myshardid", kAnyOutput},
    {"cluster|nodes", kAnyOutput},
    {"cluster|replicas", kAnyOutput},
    {"cluster|shards", kAnyOutput},
    {"cluster|slaves", kAnyOutput},
    {"cluster|slots", kAnyOutput},
    {"command", "nondeterministic_output_order"},
    {"command|docs", "nondeterministic_output_order"},
    {"command|info", "nondeterministic_output_order"},
    {"command|list", "nondeterministic_output_order"},
    {"config|resetstat", kAllNodes},
    {"config|rewrite", kAllNodes},
    {"config|set", kAllNodes},
    {"dbsize", "request_policy:all_shards response_policy:agg_sum"},
    {"del", kEachKeysShard},
    {"exists", kEachKeysShard},
    {"flushall", kAllShards},
    {"flushdb", kAllShards},
    {"function|flush", kAllShards},
    {"info", "nondeterministic_output request_policy:all_shards response_policy:special"},
    {"keys", "request_policy:all_shards nondeterministic_output_order"},
    {"mget", "request_policy:multi_shard"},
    {"mset", "request_policy:multi_shard response_policy:all_succeeded"},
    {"ping", kAllShards},
    {"pttl", kAnyOutput},
    {"randomkey", "request_policy:all_shards response_policy:special nondeterministic_output"},
    {"scan", "nondeterministic_output request_policy:special response_policy:special"},
    {"script|exists", "request_policy:all_shards response_policy:agg_logical_and"},
    {"script|flush", kAllNodes},
    {"script|load", kAllNodes},
    {"time", kAnyOutput},
    {"touch", kEachKeysShard},
    {"ttl", kAnyOutput},
    {"unlink", kEachKeysShard},
});

void write_tips(RespWriter& to, std::string_view name) {
  const auto at = std::find_if(kTips.begin(), kTips.end(),
                               [name](const Tips& tips) { return tips.name == name; });
  const auto tips = split(at == kTips.end() ? "" : at->tips);
  to.set(tips.size());
  for (const std::string_view tip : tips) to.bulk(tip);
}

// What Redis says of the keys of these. Some SETs also read.
std::string_view key_notes(const RespCommand& command) {
  if (command.name == "eval")
    return "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE";
  if (command.name == "eval_ro")
    return "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS";
  if (command.name == "set") return "RW and ACCESS due to the optional `GET` argument";
  if (command.name == "getex") return "RW and UPDATE because it changes the TTL";
  return {};
}

// How this request uses its keys.
std::string_view access_of(const RespCommand& command, Words request) {
  const bool reads =
      std::ranges::any_of(request.subspan(std::min<std::size_t>(3, request.size())),
                          [](std::string_view word) { return same_word(word, "get"); });
  return command.name == "set" && !reads ? "OW update" : command.keys.access;
}

// Which words name keys, from the one at which the search begins.
void write_key_range(RespWriter& to, const RespCommand::Keys& keys) {
  to.map(2);
  to.bulk("type");
  to.bulk("range");
  to.bulk("spec");
  to.map(3);
  to.bulk("lastkey");
  to.integer(keys.last < 0 ? keys.last : keys.last - keys.first);
  to.bulk("keystep");
  to.integer(keys.step);
  to.bulk("limit");
  to.integer(0);
}

void write_key_count(RespWriter& to) {
  to.map(2);
  to.bulk("type");
  to.bulk("keynum");
  to.bulk("spec");
  to.map(3);
  to.bulk("keynumidx");
  to.integer(0);
  to.bulk("firstkey");
  to.integer(1);
  to.bulk("keystep");
  to.integer(1);
}

void write_key_spec(RespWriter& to, const RespCommand& command) {
  const std::string_view notes = key_notes(command);
  to.map(notes.empty() ? 3 : 4);
  if (!notes.empty()) {
    to.bulk("notes");
    to.bulk(notes);
  }
  to.bulk("flags");
  write_set(to,
            std::string(command.keys.access) + (command.name == "set" ? " variable_flags" : ""));
  to.bulk("begin_search");
  to.map(2);
  to.bulk("type");
  to.bulk("index");
  to.bulk("spec");
  to.map(1);
  to.bulk("index");
  to.integer(std::max(command.keys.first, command.keys.count));
  to.bulk("find_keys");
  command.keys.count > 0 ? write_key_count(to) : write_key_range(to, command.keys);
}

void write_command(RespWriter& to, const RespCommand& command, const RespCommand* container) {
  to.array(10);
  to.bulk(command_name(command, container));
  to.integer(command.arity);
  write_set(to, command.flags);
  to.integer(command.keys.first);
  to.integer(command.keys.last);
  to.integer(command.keys.step);
  write_set(to, command.categories);
  write_tips(to, command_name(command, container));
  to.set(command.keys.any() ? 1 : 0);
  if (command.keys.any()) write_key_spec(to, command);
  command.subcommands.empty() ? to.set(0) : to.array(command.subcommands.size());
  for (const RespCommand& sub : command.subcommands) write_command(to, sub, &command);
}

void write_docs(RespWriter& to, const RespCommand& command, const RespCommand* container) {
  to.bulk(command_name(command, container));
  to.map(4 + (command.syntax.empty() ? 0u : 1u) + (command.subcommands.empty() ? 0u : 1u));
  to.bulk("summary");
  to.bulk(command.summary);
  to.bulk("since");
  to.bulk(command.since);
  to.bulk("group");
  to.bulk(command.group);
  to.bulk("complexity");
  to.bulk(command.complexity());
  if (!command.syntax.empty()) {
    to.bulk("arguments");
    write_arguments(to, command.syntax);
  }
  if (command.subcommands.empty()) return;
  to.bulk("subcommands");
  to.map(command.subcommands.size());
  for (const RespCommand& sub : command.subcommands) write_docs(to, sub, &command);
}

void command(RespConnection& connection, Words) {
  RespWriter to = connection.writer();
  to.array(resp_commands().size());
  for (const RespCommand& one : resp_commands()) write_command(to, one, nullptr);
}

void command_count(RespConnection& connection, Words) {
  connection.writer().integer(static_cast<std::int64_t>(resp_commands().size()));
}

// Whether FILTERBY of COMMAND LIST includes it. There are no modules, so none belongs to one.
bool is_told(const RespCommand& command, std::string_view name, Words filter) {
  if (filter.empty()) return true;
  const std::string wanted = lowered(filter[2]);
  if (same_word(filter[1], "pattern")) return matches(wanted, name);
  if (same_word(filter[1], "module")) return false;
  const auto categories = split(command.categories);
  return std::find(categories.begin(), categories.end(), '@' + wanted) != categories.end();
}

void command_list(RespConnection& connection, Words words) {
  const Words filter = words.subspan(2);
  const bool known = filter.size() == 3 && same_word(filter[0], "filterby") &&
                     (same_word(filter[1], "pattern") || same_word(filter[1], "aclcat") ||
                      same_word(filter[1], "module"));
  if (!filter.empty() && !known) return connection.error(kSyntaxError);
  std::vector<std::string> names;
  const auto tell = [&](const RespCommand& one, const RespCommand* container) {
    const std::string name = command_name(one, container);
    if (is_told(one, name, filter)) names.push_back(name);
  };
  for (const RespCommand& one : resp_commands()) {
    tell(one, nullptr);
    for (const RespCommand& sub : one.subcommands) tell(sub, &one);
  }
  RespWriter to = connection.writer();
  to.array(names.size());
  for (const std::string& name : names) to.bulk(name);
}

// "get", or "client|list".
void command_info(RespConnection& connection, Words words) {
  if (words.size() == 2) return command(connection, words);
  RespWriter to = connection.writer();
  to.array(words.size() - 2);
  for (const std::string_view name : words.subspan(2)) {
    const std::size_t bar = std::min(name.find('|'), name.size());
    const RespCommand* const one = find_command(name.substr(0, bar));
    const RespCommand* const sub = one == nullptr || bar == name.size()
                                       ? nullptr
                                       : find_subcommand(*one, name.substr(bar + 1));
    if (sub != nullptr) {
      write_command(to, *sub, one);
    } else if (one != nullptr && bar == name.size()) {
      write_command(to, *one, nullptr);
    } else {
      to.null();
    }
  }
}

void command_docs(RespConnection& connection, Words words) {
  std::vector<const RespCommand*> wanted;
  for (const std::string_view name : words.subspan(2)) {
    if (const RespCommand* const one = find_command(name)) wanted.push_back(one);
  }
  if (words.size() == 2)
    for (const RespCommand& one : resp_commands()) wanted.push_back(&one);
  RespWriter to = connection.writer();
  to.map(wanted.size());
  for (const RespCommand* one : wanted) write_docs(to, *one, nullptr);
}

// The command that would run if the request was sent; null: none. REQUIRES: a word.
const RespCommand* find_requested(Words request) {
  const RespCommand* const one = find_command(request[0]);
  const bool contains = one != nullptr && !one->subcommands.empty() && request.size() > 1;
  return contains ? find_subcommand(*one, request[1]) : one;
}

// Writes each key by `write`, which may add details.
template <class Write>
void tell_keys(RespConnection& connection, Words words, Write write) {
  const Words request = words.subspan(2);
  const RespCommand* const asked = find_requested(request);
  if (asked == nullptr) return connection.error("ERR Invalid command specified");
  if (!asked->keys.any()) return connection.error("ERR The command has no key arguments");
  if (!asked->accepts(request.size()))
    return connection.error("ERR Invalid number of arguments specified for command");
  std::vector<std::string_view> keys;
  for_each_key(*asked, request, [&keys](std::string_view key) { keys.push_back(key); });
  const std::string_view access = access_of(*asked, request);
  RespWriter to = connection.writer();
  to.array(keys.size());
  for (const std::string_view key : keys) write(to, key, access);
}

void command_getkeys(RespConnection& connection, Words words) {
  tell_keys(connection, words, [](RespWriter& to, std::string_view key, auto) { to.bulk(key); });
}

void command_getkeysandflags(RespConnection& connection, Words words) {
  tell_keys(connection, words, [](RespWriter& to, std::string_view key, std::string_view access) {
    to.array(2);
    to.bulk(key);
    write_set(to, access);
  });
}

constexpr std::string_view kCommandFlags = "loading stale";
constexpr std::string_view kCommandCategories = "@slow @connection";

constexpr std::array kCommand{
    RespCommand{"count",
                2,
                command_count,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "2.8.13",
                "Tells how many commands there are."},
    RespCommand{"docs",
                -2,
                command_docs,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "7.0.0",
                "Explains commands.",
                "[command-name...]"},
    RespCommand{"getkeys",
                -3,
                command_getkeys,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "2.8.13",
                "Tells the keys that a request names.",
                "command [arg...]"},
    RespCommand{"getkeysandflags",
                -3,
                command_getkeysandflags,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "7.0.0",
                "Tells the keys that a request names, and what it does to them.",
                "command [arg...]"},
    RespCommand{"info",
                -2,
                command_info,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "2.8.13",
                "Describes commands.",
                "[command-name...]"},
    RespCommand{"list",
                -2,
                command_list,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "7.0.0",
                "Names commands.",
                "[FILTERBY filter name]"},
    help_row("server", "5.0.0", kCommandCategories),
};

constexpr std::array kCatalogueCommands{
    RespCommand{"command",
                -1,
                command,
                kAuthenticated,
                kCommandFlags,
                {},
                kCommandCategories,
                "server",
                "2.8.13",
                "Describes all commands.",
                {},
                kCommand},
};

// "n:integer" is "n" for people.
std::string without_types(std::string_view syntax) {
  std::string text;
  for (std::size_t at = 0; at < syntax.size();) {
    if (syntax[at] == ':') at = std::min(syntax.find_first_of(" ]", at), syntax.size());
    if (at < syntax.size()) text += syntax[at++];
  }
  return text;
}

}  // namespace

void help(RespConnection& connection, RespConnection::Words words) {
  const RespCommand& container = *find_command(words[0]);
  RespWriter to = connection.writer();
  to.array(1 + 2 * container.subcommands.size());
  to.simple(raised(container.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const RespCommand& sub : container.subcommands) {
    to.simple(raised(sub.name) + (sub.syntax.empty() ? "" : " ") + without_types(sub.syntax));
    to.simple("    " + std::string(sub.summary));
  }
}

std::span<const RespCommand> catalogue_commands() { return kCatalogueCommands; }

}  // namespace quipu
