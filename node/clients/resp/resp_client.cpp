// Commands about the connection itself.
#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "node/base/version.h"
#include "node/clients/resp/resp_command.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

void ping(RespConnection& connection, Words words) {
  if (words.size() > 2) return connection.error("ERR wrong number of arguments for 'ping' command");
  words.size() == 1 ? connection.writer().simple("PONG") : connection.writer().bulk(words[1]);
}

void echo(RespConnection& connection, Words words) { connection.writer().bulk(words[1]); }

void quit(RespConnection& connection, Words) {
  connection.ok();
  connection.end();
}

void select(RespConnection& connection, Words words) {
  const auto index = to_integer(words[1]);
  const bool known = index && *index >= 0 && *index < connection.server().settings.databases;
  connection.set_database_refused(!known);
  if (!index) return connection.error(kNotAnInteger);
  if (*index != static_cast<std::int32_t>(*index)) {
    return connection.error(
        "ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  if (!known) return connection.error("ERR DB index is out of range");
  connection.select(static_cast<std::uint32_t>(*index));
  connection.ok();
}

void reset(RespConnection& connection, Words) {
  connection.reset();
  connection.writer().simple("RESET");
}

// Names are kept as long as the connection, and shown to clients that ask for all connections.
constexpr std::size_t kMaxLabel = 256;

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

constexpr std::string_view kBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";
constexpr std::string_view kLongName = "ERR Client and library names have at most 256 characters";

// Empty: it is valid.
std::string_view objection_to_name(std::string_view name) {
  return name.size() > kMaxLabel ? kLongName : printable(name) ? "" : kBadName;
}

// ---- HELLO ----

// The requested values. `error` says what is wrong instead.
struct Greeting {
  RespWriter::Version version;
  std::optional<std::string_view> name{};
  std::string error{};
  std::optional<std::string_view> user{}, secret{};
};

Greeting read_greeting(const RespConnection& connection, Words words) {
  Greeting greeting{connection.version()};
  if (words.size() == 1) return greeting;
  const auto version = to_integer(words[1]);
  if (!version)
    return {greeting.version, {}, "ERR Protocol version is not an integer or out of range"};
  if (*version != 2 && *version != 3)
    return {greeting.version, {}, "NOPROTO unsupported protocol version"};
  greeting.version = static_cast<RespWriter::Version>(*version);
  for (std::size_t i = 2; i < words.size();) {
    if (same_word(words[i], "auth") && i + 2 < words.size()) {
      greeting.user = words[i + 1];
      greeting.secret = words[i + 2];
      i += 3;
    } else if (same_word(words[i], "setname") && i + 1 < words.size()) {
      greeting.name = words[i + 1];
      if (const auto why = objection_to_name(words[i + 1]); !why.empty())
        return {greeting.version, {}, std::string(why)};
      i += 2;
    } else {
      greeting.error = "ERR Syntax error in HELLO option '" + std::string(words[i]) + "'";
      break;
    }
  }
  return greeting;
}

void hello(RespConnection& connection, Words words) {
  const Greeting greeting = read_greeting(connection, words);
  if (!greeting.error.empty()) return connection.error(greeting.error);
  if (greeting.user && !authenticate(connection, *greeting.user, *greeting.secret)) return;
  if (!connection.permit().rights().has(kAuthenticated))
    return connection.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  if (greeting.name) connection.labels().name = *greeting.name;
  connection.use(greeting.version);
  RespWriter to = connection.writer();
  to.map(7);
  to.bulk("server");
  to.bulk("redis");
  to.bulk("version");
  to.bulk(kRedisVersion);
  to.bulk("proto");
  to.integer(static_cast<std::int64_t>(greeting.version));
  to.bulk("id");
  to.integer(static_cast<std::int64_t>(raw(connection.id())));
  to.bulk("mode");
  to.bulk("standalone");
  to.bulk("role");
  to.bulk("master");
  to.bulk("modules");
  to.array(0);
}

// ---- CLIENT ----

void client_id(RespConnection& connection, Words) {
  connection.writer().integer(static_cast<std::int64_t>(raw(connection.id())));
}

void client_getname(RespConnection& connection, Words) {
  const std::string& name = connection.labels().name;
  name.empty() ? connection.writer().null() : connection.writer().bulk(name);
}

void client_setname(RespConnection& connection, Words words) {
  if (const auto why = objection_to_name(words[2]); !why.empty()) return connection.error(why);
  connection.labels().name = words[2];
  connection.ok();
}

void client_setinfo(RespConnection& connection, Words words) {
  const bool library = same_word(words[2], "lib-name");
  if (!library && !same_word(words[2], "lib-ver")) {
    return connection.error("ERR Unrecognized option '" + std::string(words[2]) + "'");
  }
  if (words[3].size() > kMaxLabel) return connection.error(kLongName);
  if (!printable(words[3])) {
    return connection.error((library ? "ERR lib-name" : "ERR lib-ver") +
                            std::string(" cannot contain spaces, newlines or special characters."));
  }
  auto& labels = connection.labels();
  (library ? labels.library : labels.library_version) = words[3];
  connection.ok();
}

std::size_t size_of(Words words) {
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size();
  return bytes;
}

void client_info(RespConnection& connection, Words words) {
  connection.writer().verbatim(connection.describe(NodeClock::now(), size_of(words)) + '\n');
}

// The clients of [TYPE type | ID id …]. Nothing: it has replied with a syntax error.
std::optional<std::vector<const RespConnection*>> chosen(RespConnection& connection, Words words) {
  std::vector<const RespConnection*> all;
  const auto& connections = connection.server().connections;
  if (words.size() == 2) {
    for (const auto& [id, one] : connections) all.push_back(one);
  } else if (words.size() == 4 && same_word(words[2], "type")) {
    const bool none = same_word(words[3], "master") || same_word(words[3], "replica") ||
                      same_word(words[3], "slave") || same_word(words[3], "pubsub");
    if (!none && !same_word(words[3], "normal")) {
      connection.error("ERR Unknown client type '" + std::string(words[3]) + "'");
      return std::nullopt;
    }
    if (!none)
      for (const auto& [id, one] : connections) all.push_back(one);
  } else if (words.size() >= 4 && same_word(words[2], "id")) {
    std::set<ClientId> ids;
    for (const std::string_view word : words.subspan(3)) {
      const auto id = to_integer(word);
      if (!id) {
        connection.error("ERR Invalid client ID");
        return std::nullopt;
      }
      const auto at = connections.find(ClientId{static_cast<std::uint64_t>(*id)});
      if (at != connections.end() && ids.insert(at->first).second) all.push_back(at->second);
    }
  } else {
    connection.error(kSyntaxError);
    return std::nullopt;
  }
  return all;
}

void client_list(RespConnection& connection, Words words) {
  const auto all = chosen(connection, words);
  if (!all) return;
  std::string lines;
  const Instant now = NodeClock::now();
  for (const RespConnection* one : *all)
    lines.append(one->describe(now, one == &connection ? size_of(words) : 0)).append("\n");
  connection.writer().verbatim(lines);
}

// ---- CLIENT KILL ----

struct KillRequest {
  ClientFilter which{};
  bool skip_me = true;
  bool old_form = false;  // one address: the reply is OK, or an error if no connection has it
  std::string error{};
};

KillRequest read_kill_request(Words words) {
  if (words.size() == 3)
    return {.which = {.remote = std::string(words[2])}, .skip_me = false, .old_form = true};
  KillRequest killing;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return {.error = std::string(kSyntaxError)};
    const std::string_view value = words[i + 1];
    if (same_word(words[i], "id")) {
      const auto id = to_integer(value);
      if (!id || *id < 1) return {.error = "ERR client-id should be greater than 0"};
      killing.which.id = ClientId{static_cast<std::uint64_t>(*id)};
    } else if (same_word(words[i], "addr")) {
      killing.which.remote = value;
    } else if (same_word(words[i], "laddr")) {
      killing.which.local = value;
    } else if (same_word(words[i], "user")) {
      killing.which.user = value;
    } else if (same_word(words[i], "skipme") &&
               (same_word(value, "yes") || same_word(value, "no"))) {
      killing.skip_me = same_word(value, "yes");
    } else {
      return {.error = std::string(kSyntaxError)};
    }
  }
  return killing;
}

// Its own connection ends after the reply.
void client_kill(RespConnection& connection, Words words) {
  KillRequest killing = read_kill_request(words);
  if (!killing.error.empty()) return connection.error(killing.error);
  const auto& user = killing.which.user;
  const auto& users = connection.server().context.access.users;
  if (user && !(users != nullptr ? users->has(*user) : *user == kDefaultUser))
    return connection.error("ERR No such user '" + *user + "'");
  killing.which.asker = connection.id();
  const bool own = !killing.skip_me && connection.is_matched_by(killing.which);
  const auto open = std::make_shared<std::size_t>(0);  // answers that are missing
  connection.run(
      [&connection, own, open, old_form = killing.old_form, killed = std::int64_t{own ? 1 : 0}](
          const RespAnswer& answer, RespWriter& to) mutable {
        const KeyCount& told = *answer.size;
        killed += static_cast<std::int64_t>(told.counters);
        if (--*open > 0) return false;
        if (!old_form) {
          to.integer(killed);
        } else if (killed > 0) {
          to.simple("OK");
        } else {
          connection.fail(to, "ERR No such client");
        }
        if (own) connection.end();
        return true;
      });
  *open = connection.again(killing.which);
}

// No client is evicted to make room for replies, and no key's last use is stored.
void client_switch(RespConnection& connection, Words words) {
  if (!same_word(words[2], "on") && !same_word(words[2], "off"))
    return connection.error(kSyntaxError);
  connection.ok();
}

constexpr std::string_view kConnectionFlags = "noscript loading stale fast no_auth allow_busy";
constexpr std::string_view kConnectionCategories = "@fast @connection";
constexpr std::string_view kSub = "noscript loading stale";
constexpr std::string_view kSlow = "@slow @connection";
constexpr std::string_view kAdminSub = "admin noscript loading stale";
constexpr std::string_view kAdminSlow = "@admin @slow @dangerous @connection";

constexpr std::array kClient{
    RespCommand{"id",
                2,
                client_id,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "5.0.0",
                "Tells this connection's number."},
    RespCommand{"info",
                2,
                client_info,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "6.2.0",
                "Describes this connection."},
    RespCommand{"kill",
                -3,
                client_kill,
                kMayAdminister,
                kAdminSub,
                {},
                kAdminSlow,
                "connection",
                "2.4.0",
                "Ends connections of either protocol, to any reactor of this node.",
                "filter [value...]"},
    RespCommand{"list",
                -2,
                client_list,
                kMayObserve,
                kAdminSub,
                {},
                kAdminSlow,
                "connection",
                "2.4.0",
                "Describes the connections that speak RESP.",
                "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id:integer...]"},
    RespCommand{"getname",
                2,
                client_getname,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "2.6.9",
                "Tells this connection's name."},
    RespCommand{"setname",
                3,
                client_setname,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "2.6.9",
                "Names this connection.",
                "connection-name"},
    RespCommand{"setinfo",
                4,
                client_setinfo,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "7.2.0",
                "Names this connection's client library.",
                "LIB-NAME|LIB-VER value"},
    RespCommand{"no-evict",
                3,
                client_switch,
                kAuthenticated,
                kAdminSub,
                {},
                kAdminSlow,
                "connection",
                "7.0.0",
                "Accepted, and without effect.",
                "ON|OFF"},
    RespCommand{"no-touch",
                3,
                client_switch,
                kAuthenticated,
                kSub,
                {},
                kSlow,
                "connection",
                "7.2.0",
                "Accepted, and without effect.",
                "ON|OFF"},
    help_row("connection", "5.0.0", kSlow),
};

constexpr std::array kClientCommands{
    RespCommand{"ping",
                -1,
                ping,
                kAuthenticated,
                "fast",
                {},
                kConnectionCategories,
                "connection",
                "1.0.0",
                "Answers PONG, or the given text.",
                "[message]"},
    RespCommand{"echo",
                2,
                echo,
                kAuthenticated,
                "loading stale fast",
                {},
                kConnectionCategories,
                "connection",
                "1.0.0",
                "Answers the given text.",
                "message"},
    RespCommand{"quit",
                -1,
                quit,
                kNoRight,
                kConnectionFlags,
                {},
                kConnectionCategories,
                "connection",
                "1.0.0",
                "Closes the connection."},
    RespCommand{"select",
                2,
                select,
                kAuthenticated,
                "loading stale fast",
                {},
                kConnectionCategories,
                "connection",
                "1.0.0",
                "Selects a database: its counters are those whose names begin with \"dbN:\".",
                "index:integer"},
    RespCommand{"reset",
                1,
                reset,
                kNoRight,
                kConnectionFlags,
                {},
                kConnectionCategories,
                "connection",
                "6.2.0",
                "Resets the connection to its initial state."},
    RespCommand{"hello",
                -1,
                hello,
                kNoRight,
                kConnectionFlags,
                {},
                kConnectionCategories,
                "connection",
                "6.0.0",
                "Chooses RESP2 or RESP3 and describes the server.",
                "[protover:integer [AUTH username password] [SETNAME clientname]]"},
    RespCommand{"client",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "connection",
                "2.4.0",
                "Commands about connections.",
                {},
                kClient},
};

}  // namespace

std::span<const RespCommand> client_commands() { return kClientCommands; }

}  // namespace quipu
