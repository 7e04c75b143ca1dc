// QUIPU.NAMESPACE: the definitions of namespaces (quipu/namespace.h).
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "node/base/duration_text.h"
#include "node/base/level_names.h"
#include "node/base/tier_text.h"
#include "node/clients/resp/resp_walk.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;
using Request = NamespaceRequest;

constexpr std::string_view kOptions =
    "ACK MEMORY|DISK|QUORUM|DEFAULT, READ LOCAL|FRESH|STRONG|DEFAULT, SHARDS 1 to 1024|DEFAULT, "
    "TTL a duration such as 500ms, 30s, 12h or 7d|DEFAULT, DECIDE LOCAL|HOME|DEFAULT, TIERS "
    "such as '1m for 2d, 1h for ever'|DEFAULT, LATE a duration|DEFAULT, of CREATE, KIND "
    "SUM|DISTINCT|FREQUENCY|TOP|MAXIMUM and PRECISION 10 to 16, and, of the default namespace, "
    "STRICT YES|NO|DEFAULT";

std::string syntax_error(Words wrong) {
  std::string text = "ERR syntax error at";
  for (const std::string_view word : wrong) text += " '" + std::string(word) + "'";
  return text + ": the options are " + std::string(kOptions) + ", each once";
}

// ---- values by name: nothing is "default" ----

std::optional<bool> switch_named(std::string_view word) {
  if (same_word(word, "yes")) return true;
  if (same_word(word, "no")) return false;
  return std::nullopt;
}

// False: there is no such word. "default" sets nothing.
template <class Value>
bool read_named(std::string_view word, std::optional<Value>& to) {
  to.reset();
  if (same_word(word, "default")) return true;
  if constexpr (std::is_same_v<Value, bool>) {
    to = switch_named(word);
  } else {
    to = level_named<Value>(word, same_word);
  }
  return to.has_value();
}

template <class Level>
void write_level(const std::optional<Level>& level, RespWriter& to) {
  level ? to.bulk(level_name(*level)) : to.null();
}

// ---- changes ----

bool read_shards(std::string_view word, std::optional<std::uint16_t>& to) {
  to.reset();
  if (same_word(word, "default")) return true;
  const auto number = to_integer(word);
  if (!number || *number < 1 || *number > kMaxShards) return false;
  to = static_cast<std::uint16_t>(*number);
  return true;
}

bool read_precision(std::string_view word, std::optional<std::uint8_t>& to) {
  to.reset();
  if (same_word(word, "default")) return true;
  const auto number = to_integer(word);
  if (!number || *number < kLeastPrecision || *number > kMostPrecision) return false;
  to = static_cast<std::uint8_t>(*number);
  return true;
}

bool read_duration(std::string_view word, std::optional<std::chrono::milliseconds>& to) {
  to.reset();
  if (same_word(word, "default")) return true;
  to = to_duration(word, kMaxTtl);
  return to.has_value();
}

bool read_tiers(std::string_view word, std::vector<Tier>& to) {
  to.clear();
  if (same_word(word, "default")) return true;
  const auto tiers = to_tiers(word);
  if (tiers) to = *tiers;
  return tiers.has_value();
}

// Reads the options into the request. Returns what is wrong with them, or an empty text.
std::string read_policy(Words options, Request& request) {
  NamespacePolicy& policy = request.policy;
  for (std::size_t i = 0; i < options.size(); i += 2) {
    const std::string_view name = options[i];
    const std::string_view value = i + 1 < options.size() ? options[i + 1] : std::string_view();
    std::uint16_t field = 0;
    bool known = false;
    if (same_word(name, "ack")) {
      field = Request::kAck;
      known = read_named(value, policy.ack);
    } else if (same_word(name, "read")) {
      field = Request::kRead;
      known = read_named(value, policy.read);
    } else if (same_word(name, "shards")) {
      field = Request::kShards;
      known = read_shards(value, policy.shards);
    } else if (same_word(name, "ttl")) {
      field = Request::kTtl;
      known = read_duration(value, policy.ttl);
    } else if (same_word(name, "decide")) {
      field = Request::kDecide;
      known = read_named(value, policy.decide);
    } else if (same_word(name, "tiers")) {
      field = Request::kTiers;
      known = read_tiers(value, policy.tiers);
    } else if (same_word(name, "late")) {
      field = Request::kLate;
      known = read_duration(value, policy.late);
    } else if (same_word(name, "strict")) {
      field = Request::kStrict;
      known = read_named(value, policy.strict);
    } else if (same_word(name, "kind")) {
      field = Request::kKind;
      known = read_named(value, policy.kind);
    } else if (same_word(name, "precision")) {
      field = Request::kPrecision;
      known = read_precision(value, policy.precision);
    }
    if (!known || (request.fields & field) != 0)
      return syntax_error(options.subspan(i, std::min<std::size_t>(2, options.size() - i)));
    request.fields = static_cast<std::uint16_t>(request.fields | field);
  }
  return {};
}

// The reply to a change: the members that do not hold it yet.
void write_absent(RespConnection& connection, const NamespaceReply& reply, RespWriter& to) {
  if (reply.code != Code::ok) return connection.fail(to, change_error(reply.code, reply.detail));
  to.array(reply.absent.size());
  for (const std::string& name : reply.absent) to.bulk(name);
}

void change_definition(RespConnection& connection, Words words, NamespaceAction action) {
  if (!connection.permits_namespace(words[2])) return;
  Request request{.action = action, .name = words[2]};
  std::string wrong = read_policy(words.subspan(3), request);
  if (action == NamespaceAction::set && request.fields == 0)
    wrong = "ERR syntax error: give at least one option: " + std::string(kOptions);
  if (!wrong.empty()) return connection.error(wrong);
  connection.run([&connection](const RespAnswer& answer, RespWriter& to) {
    write_absent(connection, *answer.namespaces, to);
    return true;
  });
  connection.again(request);
}

void create_namespace(RespConnection& connection, Words words) {
  change_definition(connection, words, NamespaceAction::create);
}

void set_policy(RespConnection& connection, Words words) {
  change_definition(connection, words, NamespaceAction::set);
}

// ---- drop ----

// Drops the definition, then resets the counters. Also if it was dropped before: some may be left.
void drop_namespace(RespConnection& connection, Words words) {
  const std::string_view name = words[2];
  if (!connection.permits_namespace(name)) return;
  const auto all = std::make_shared<ResetAll>(connection, std::string(name) + ':');
  connection.run([&connection, all](const RespAnswer& answer, RespWriter& to) {
    if (const NamespaceReply* const dropped = answer.namespaces) {
      if (dropped->code == Code::ok) {
        all->begin();
        return false;
      }
      connection.fail(to, change_error(dropped->code, dropped->detail));
    } else if (!all->take(answer)) {
      return false;
    } else if (std::string failure = all->failure(); !failure.empty()) {
      connection.fail(to, "PARTIAL the namespace is dropped, and " + std::to_string(all->reset()) +
                              " of its counters were reset: send it again to go on: " + failure);
    } else {
      to.integer(static_cast<std::int64_t>(all->reset()));
    }
    return true;
  });
  connection.again(Request{.action = NamespaceAction::drop, .name = name});
}

// ---- questions ----

void write_namespace(const Namespace& one, RespWriter& to) {
  to.map(11);
  to.bulk("name");
  to.bulk(one.name);
  to.bulk("ack");
  write_level(one.policy.ack, to);
  to.bulk("read");
  write_level(one.policy.read, to);
  to.bulk("shards");
  one.policy.shards ? to.integer(*one.policy.shards) : to.null();
  to.bulk("ttl_ms");
  one.policy.ttl ? to.integer(one.policy.ttl->count()) : to.null();
  to.bulk("decide");
  write_level(one.policy.decide, to);
  to.bulk("tiers");
  one.policy.tiers.empty() ? to.null() : to.bulk(to_text(one.policy.tiers));
  to.bulk("late_ms");
  one.policy.late ? to.integer(one.policy.late->count()) : to.null();
  to.bulk("strict");
  one.policy.strict ? to.bulk(*one.policy.strict ? "yes" : "no") : to.null();
  to.bulk("kind");
  write_level(one.policy.kind, to);
  to.bulk("precision");
  one.policy.precision ? to.integer(*one.policy.precision) : to.null();
}

// `write` gets the definitions that concern the user.
template <class Write>
void list(RespConnection& connection, Write write) {
  connection.run([&connection, write](const RespAnswer& answer, RespWriter& to) {
    const NamespaceReply& reply = *answer.namespaces;
    if (reply.code == Code::ok) {
      std::vector<Namespace> seen = reply.namespaces;
      std::erase_if(seen, [&](const Namespace& one) {
        return !connection.permit().touches_namespace(one.name);
      });
      write(seen, to);
    } else {
      connection.fail(to, read_error(reply.code, reply.detail));
    }
    return true;
  });
  connection.again(Request{});
}

void list_all(RespConnection& connection, Words) {
  list(connection, [](const std::vector<Namespace>& all, RespWriter& to) {
    to.array(all.size());
    for (const Namespace& one : all) write_namespace(one, to);
  });
}

void show_one(RespConnection& connection, Words words) {
  list(connection,
       [name = std::string(words[2])](const std::vector<Namespace>& all, RespWriter& to) {
         const auto at = std::ranges::find(all, name, &Namespace::name);
         at == all.end() ? to.null() : write_namespace(*at, to);
       });
}

constexpr std::string_view kDangerous = "@admin @slow @dangerous";

constexpr std::array kSubcommands{
    RespCommand{
        "create",
        -3,
        create_namespace,
        kMayAdminister,
        "admin",
        {},
        kDangerous,
        "server",
        "7.0.0",
        "Defines a namespace; tells the members that do not hold it yet.",
        "name [ACK level] [READ level] [SHARDS n:integer] [TTL duration] [DECIDE place] "
        "[TIERS tiers] [LATE duration] [STRICT switch] [KIND kind] [PRECISION bits:integer]"},
    RespCommand{"drop",
                3,
                drop_namespace,
                kMayAdminister,
                "admin write",
                {},
                kDangerous,
                "server",
                "7.0.0",
                "Resets every counter of a namespace and drops its definition; tells how many.",
                "name"},
    help_row("server", "7.0.0"),
    RespCommand{"ls",
                2,
                list_all,
                kMayRead,
                "readonly",
                {},
                "@slow",
                "server",
                "7.0.0",
                "Lists the definitions of namespaces."},
    RespCommand{"set",
                -3,
                set_policy,
                kMayAdminister,
                "admin",
                {},
                kDangerous,
                "server",
                "7.0.0",
                "Changes the given settings of a namespace; tells the members that do not hold "
                "it yet.",
                "name [ACK level] [READ level] [SHARDS n:integer] [TTL duration] [DECIDE place] "
                "[TIERS tiers] [LATE duration] [STRICT switch]"},
    RespCommand{"show",
                3,
                show_one,
                kMayRead,
                "readonly",
                {},
                "@slow",
                "server",
                "7.0.0",
                "Tells the definition of a namespace.",
                "name"},
};

constexpr std::array kNamespaceCommands{
    RespCommand{"quipu.namespace",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "server",
                "7.0.0",
                "Settings for all counters whose keys begin with one name and a colon.",
                {},
                kSubcommands},
};

}  // namespace

std::span<const RespCommand> namespace_commands() { return kNamespaceCommands; }

}  // namespace quipu
