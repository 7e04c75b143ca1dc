// resp_command.h: the commands for Redis clients, by name.
//
// Each family of commands has a file: resp_counters.cpp (INCR, GET, …),
// resp_values.cpp (SET, INCREX, …), resp_expiry.cpp (EXPIRE, TTL, …), resp_resets.cpp (DEL, …;
// all four with rules for who decides: resp_decisions.h), resp_transaction.cpp (MULTI, EXEC),
// resp_scripts.cpp, resp_keyspace.cpp (SCAN, DBSIZE, …), resp_client.cpp (HELLO, CLIENT, …),
// resp_distinct.cpp (PFADD, …), resp_introspection.cpp (INFO, CONFIG, FUNCTION), resp_catalogue.cpp
// (COMMAND, with resp_arguments.cpp), resp_cluster.cpp (CLUSTER, …), resp_users.cpp
// (AUTH, ACL), resp_quipu.cpp, resp_namespaces.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/clients/resp/resp_connection.h"

namespace quipu {

struct RespCommand {
  using Run = void (*)(RespConnection&, RespConnection::Words);

  std::string_view name;  // in lower case; for a subcommand, without its container's
  // The number of words, including the name. Negative: at least this many.
  int arity;
  Run run;  // null: only its subcommands run
  // What the user must have. A command that names keys also needs a permitted prefix of each: it
  // has kEveryKey in resp_commands().
  Rights needs;
  std::string_view flags;  // as COMMAND shows them, separated by spaces
  struct Keys {
    int first = 0, last = 0, step = 0;
    std::string_view access{};  // how the keys are used, as COMMAND shows it
    // The word that says how many keys follow it. Then `first`, `last` and `step` are 0.
    int count = 0;

    [[nodiscard]] bool any() const { return first > 0 || count > 0; }
  } keys{};
  std::string_view categories{};
  std::string_view group{};
  std::string_view since{};
  std::string_view summary{};
  std::string_view syntax{};  // of its arguments: see resp_arguments.cpp
  std::span<const RespCommand> subcommands{};

  // Limits how many keys it may have.
  [[nodiscard]] std::string_view complexity() const {
    return keys.last < 0 || keys.count > 0 ? "O(N)" : "O(1)";
  }
  [[nodiscard]] bool accepts(std::size_t words) const {
    const auto count = static_cast<int>(words);
    return arity < 0 ? count >= -arity : count == arity;
  }
};

// All commands, sorted by name; and those of each family.
[[nodiscard]] std::span<const RespCommand> resp_commands();
[[nodiscard]] std::span<const RespCommand> counter_commands();
[[nodiscard]] std::span<const RespCommand> value_commands();
[[nodiscard]] std::span<const RespCommand> expiry_commands();
[[nodiscard]] std::span<const RespCommand> reset_commands();
[[nodiscard]] std::span<const RespCommand> transaction_commands();
[[nodiscard]] std::span<const RespCommand> script_commands();
[[nodiscard]] std::span<const RespCommand> keyspace_commands();
[[nodiscard]] std::span<const RespCommand> client_commands();
[[nodiscard]] std::span<const RespCommand> user_commands();
[[nodiscard]] std::span<const RespCommand> introspection_commands();
[[nodiscard]] std::span<const RespCommand> catalogue_commands();
[[nodiscard]] std::span<const RespCommand> quipu_commands();
[[nodiscard]] std::span<const RespCommand> namespace_commands();
[[nodiscard]] std::span<const RespCommand> window_commands();
[[nodiscard]] std::span<const RespCommand> distinct_commands();
[[nodiscard]] std::span<const RespCommand> frequency_commands();
[[nodiscard]] std::span<const RespCommand> maximum_commands();
[[nodiscard]] std::span<const RespCommand> top_commands();
[[nodiscard]] std::span<const RespCommand> cluster_commands();
// Each command and subcommand has a number. `container`: that of a subcommand. And their names
// by number: "get", or "client|list".
[[nodiscard]] std::size_t number_of(const RespCommand& command, const RespCommand* container);
[[nodiscard]] const std::vector<std::string>& command_names();
// Ignores case. null: there is none.
[[nodiscard]] const RespCommand* find_command(std::string_view name);
[[nodiscard]] const RespCommand* find_subcommand(const RespCommand& command, std::string_view name);

// Where these words name counters: words[first], words[first + step], …, before words[end].
struct KeyPlaces {
  std::size_t first = 0, end = 0, step = 1;
};
// None if the number of keys among the words is no such number. REQUIRES: the command accepts the
// words.
[[nodiscard]] KeyPlaces key_places(const RespCommand& command, RespConnection::Words words);
// Calls `visit` with each word that names a counter. REQUIRES: the same.
template <class Word, class Visit>
void for_each_key(const RespCommand& command, std::span<Word> words, Visit visit) {
  const KeyPlaces places = key_places(command, words);
  for (std::size_t i = places.first; i < places.end; i += places.step) visit(words[i]);
}

// For COMMAND DOCS: the arguments described by `syntax`.
void write_arguments(RespWriter& to, std::string_view syntax);

// AUTH, and its part of HELLO. False: it has replied with an error.
[[nodiscard]] bool authenticate(RespConnection& connection, std::string_view user,
                                std::string_view secret);
inline constexpr std::string_view kWrongSecret =
    "WRONGPASS invalid username-password pair or user is disabled.";
// Redis's error for a user that may not do that.
[[nodiscard]] std::string not_permitted(const Permit& permit, std::string_view command);
inline constexpr std::string_view kKeyNotPermitted = "NOPERM No permissions to access a key";
[[nodiscard]] std::string command_name(const RespCommand& command, const RespCommand* container);

// The HELP of every command with subcommands.
void help(RespConnection& connection, RespConnection::Words words);
[[nodiscard]] constexpr RespCommand help_row(std::string_view group, std::string_view since,
                                             std::string_view categories = "@slow") {
  return {"help", 2,          help,  kAuthenticated, "loading stale",
          {},     categories, group, since,          "Tells these lines."};
}

// "likes" == "LIKES"
[[nodiscard]] bool same_word(std::string_view word, std::string_view lower);
[[nodiscard]] std::string lowered(std::string_view text);
[[nodiscard]] std::string raised(std::string_view text);
// Keys have 512 bytes. A long pattern could take seconds for each of them.
inline constexpr std::size_t kMaxPattern = 1024;
inline constexpr std::string_view kPatternTooLong = "ERR a pattern has at most 1024 bytes";
// Redis's glob: * ? [a-z] [^a] and \ before any.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNothingChanged = " (nothing has changed: it may be repeated)";
inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kImpossibleKey = "ERR a key has 1 to 512 bytes";

// "no_quorum: what happened"
[[nodiscard]] std::string reason(Code code, std::string_view detail);
// The error for a change that was not applied, or is in doubt; the same for a change with a
// token; and the error for a failed read, by itself or before a change.
[[nodiscard]] std::string change_error(Code code, std::string_view detail);
[[nodiscard]] std::string token_error(Code code, std::string_view detail);
[[nodiscard]] std::string read_error(Code code, std::string_view detail);
[[nodiscard]] std::string unread_error(Code code, std::string_view detail);

}  // namespace quipu
