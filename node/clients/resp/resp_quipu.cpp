// QUIPU.*: what Redis has no commands for.
#include <array>
#include <charconv>
#include <utility>

#include "node/base/level_names.h"
#include "node/clients/resp/resp_questions.h"
#include "protocol/affinity.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- sessions ----

// "1122334455667788-0000000000000003": store and serial, in hexadecimal digits.
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kSessionName = 2 * kIdDigits + 1;

template <class Id>
std::string digits_of(Id id) {
  std::array<char, kIdDigits> digits;
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), raw(id), 16);
  const auto count = static_cast<std::size_t>(end - digits.begin());
  return std::string(kIdDigits - count, '0').append(digits.data(), count);
}

// 0: it is invalid.
std::uint64_t id_of(std::string_view digits) {
  std::uint64_t id = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, id, 16);
  return error == std::errc() && stopped == end ? id : 0;
}

// A token without a number. Nothing: it is not a session.
std::optional<Token> session_of(std::string_view name) {
  if (name.size() != kSessionName || name[kIdDigits] != '-') return std::nullopt;
  const Token token{.store = StoreId{id_of(name.substr(0, kIdDigits))},
                    .serial = Serial{id_of(name.substr(kIdDigits + 1))}};
  const bool whole = token.store != StoreId{} && token.serial != Serial{};
  return whole ? std::optional(token) : std::nullopt;
}

bool write_session(RespConnection& connection, const RespAnswer& answer, RespWriter& to) {
  const Done& done = *answer.done;
  if (done.code == Code::ok) {
    to.bulk(digits_of(done.store) + '-' + digits_of(done.serial));
  } else if (describe(done.code).outcome == Outcome::unknown) {
    connection.fail(to, "NOTAPPLIED " + reason(done.code, done.detail) + " (ask again)");
  } else {
    write_failure(connection, done, to);
  }
  return true;
}

void quipu_session(RespConnection& connection, Words words) {
  const std::string_view key = words[1];
  if (key.empty() || key.size() > kMaxKey) return connection.error(kImpossibleKey);
  connection.change({.key = key, .kind = OpKind::open_session}, write_session);
}

// ---- changes ----

// Reads "… [ACK level] [AFFINITY name] [TOKEN session number] [FLOOR number] [AT ms]", in any
// order, from words[at] on into `op`. Returns what is wrong with it, or an empty text.
std::string read_options(Op& op, Words words, std::size_t at, std::string_view syntax) {
  std::string wrong = "ERR syntax error: " + std::string(syntax);
  bool has_ack = false;
  std::optional<std::int64_t> floor;
  while (at < words.size()) {
    const std::string_view option = words[at++];
    if (at == words.size()) return wrong;
    const std::string_view value = words[at++];
    const auto ack = level_named<Ack>(value, same_word);
    if (same_word(option, "ack") && ack && !std::exchange(has_ack, true)) {
      op.ack = *ack;
    } else if (same_word(option, "affinity") && !value.empty() && op.affinity == Affinity{}) {
      op.affinity = affinity_of(value);
    } else if (same_word(option, "token") && at < words.size() && op.token == Token{}) {
      const auto session = session_of(value);
      const auto number = to_integer(words[at++]);
      if (!session) return "ERR a token's session is what QUIPU.SESSION answered";
      if (!number || *number < 1) return "ERR a token's number is an integer from 1 on";
      op.token = *session;
      op.token.number = static_cast<std::uint64_t>(*number);
    } else if (same_word(option, "at") && op.at_ms == 0) {
      const auto ms = to_integer(value);
      if (!ms || *ms < 1) return "ERR AT is a time in milliseconds since 1970";
      op.at_ms = *ms;
    } else if (same_word(option, "floor") && !floor) {
      floor = to_integer(value);
      if (!floor || *floor < 1) return "ERR FLOOR is an integer from 1 on";
    } else {
      return wrong;
    }
  }
  if (op.token == Token{}) return floor ? wrong : "";
  if (op.affinity != Affinity{}) return wrong;
  op.shard = 0;  // every counter has it
  op.token.floor = static_cast<std::uint64_t>(floor.value_or(1));
  const bool above = op.token.floor > op.token.number;
  return above ? "ERR FLOOR is the lowest number that may still be sent: not above this one" : "";
}

bool write_details(RespConnection& connection, const RespAnswer& answer, RespWriter& to) {
  const Value& value = only_value(answer);
  if (value.code != Code::ok) {
    write_failure(connection, value, to);
    return true;
  }
  to.map(3);
  to.bulk("value");
  value.exists ? to.integer(value.value) : to.null();
  to.bulk("age_ms");
  value.age_ms == kUnknownAge ? to.null() : to.integer(value.age_ms);
  to.bulk("complete");
  to.boolean(value.complete);
  return true;
}

void quipu_get(RespConnection& connection, Words words) {
  const auto level =
      words.size() == 2 ? ReadLevel::by_default : level_named<ReadLevel>(words[2], same_word);
  if (!level || words.size() > 3) {
    return connection.error("ERR syntax error: QUIPU.GET key [LOCAL|FRESH|STRONG]");
  }
  connection.read({words[1]}, *level, write_details);
}

void quipu_mget(RespConnection& connection, Words words) {
  auto level = ReadLevel::by_default;
  Words names = words.subspan(1);
  if (const auto named = level_named<ReadLevel>(words[1], same_word); named && words.size() > 2) {
    level = *named;
    names = words.subspan(2);
  }
  std::vector<std::string_view> keys;
  for (const std::string_view name : names) keys.push_back(connection.full_name(name));
  if (connection.permits_keys(keys)) read_many(connection, keys, level);
}

void quipu_add(RespConnection& connection, Words words) {
  const auto amount = to_integer(words[2]);
  if (!amount) return connection.error(kNotAnInteger);
  Op op{.key = words[1], .amount = *amount, .ack = connection.server().ack_for(words[1])};
  std::string wrong =
      read_options(op, words, 3,
                   "QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM] [AFFINITY name | TOKEN session "
                   "number [FLOOR number]] [AT ms]");
  if (!wrong.empty()) return connection.error(wrong);
  op.token == Token{} ? add(connection, op) : add_by_token(connection, op);
}

void quipu_reset(RespConnection& connection, Words words) {
  constexpr std::string_view kSyntax = "QUIPU.RESET key [ACK MEMORY|DISK|QUORUM]";
  Op op = reset_of(connection, words[1]);
  std::string wrong = read_options(op, words, 2, kSyntax);
  if (wrong.empty() && (op.affinity != Affinity{} || op.token != Token{} || op.at_ms != 0))
    wrong = "ERR syntax error: " + std::string(kSyntax);
  if (!wrong.empty()) return connection.error(wrong);
  connection.change(op, [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
    const Done& done = *answer.done;
    done.code == Code::ok ? to.simple("OK") : write_failure(from, done, to);
    return true;
  });
}

constexpr std::array kQuipuCommands{
    RespCommand{"quipu.get", -2, quipu_get, kMayRead, "readonly fast", one_key("RO access"),
                "@read @fast", "string", "7.0.0",
                "Tells a counter's total, its age in ms, and whether it is complete.",
                "key [LOCAL|FRESH|STRONG]"},
    RespCommand{"quipu.mget",
                -2,
                quipu_mget,
                kMayRead,
                "readonly fast",
                {},
                "@read @fast",
                "string",
                "7.0.0",
                "Tells the totals of several counters, at the level asked for.",
                "[LOCAL|FRESH|STRONG] key..."},
    RespCommand{"quipu.add", -3, quipu_add, kMayCount, "write denyoom fast",
                one_key("RW access update"), "@write @fast", "string", "7.0.0",
                "Adds to a counter, acknowledged as asked for.",
                "key amount:integer [ACK MEMORY|DISK|QUORUM] [AFFINITY name] [TOKEN session "
                "number:integer [FLOOR floor:integer]] [AT time:integer]"},
    RespCommand{"quipu.reset", -2, quipu_reset, kMayReset, "write fast", one_key("RM delete"),
                "@write @fast", "string", "7.0.0", "Resets a counter, acknowledged as asked for.",
                "key [ACK MEMORY|DISK|QUORUM]"},
    RespCommand{"quipu.session", 2, quipu_session, kMayChange, "write denyoom fast", one_key("RO"),
                "@write @fast", "string", "7.0.0",
                "Opens a session: with its numbers, adds that are sent again count once.", "key"},
};

}  // namespace

std::span<const RespCommand> quipu_commands() { return kQuipuCommands; }

}  // namespace quipu
