#include "node/clients/resp/resp_decisions.h"

#include <algorithm>

#include "node/clients/resp/resp_packed.h"
#include "node/clients/resp/resp_questions.h"
#include "node/clients/resp/resp_scripts.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// No command that decides on one counter needs more.
constexpr std::size_t kMostWords = 32;
// The longest number. It also bounds numbers that nothing reads: the x of SET k 1 EX x EX 5.
constexpr std::size_t kLongestWord = 20;
// No reply of a command needs more: a number for each word, or an error that repeats a part of one.
constexpr std::size_t kLongestReply = 512;
static_assert(kMaxPackedWords / 2 * kLongestReply <= kMaxDecisionReply);
static_assert(kMaxScriptReply + kLongestReply <= kMaxDecisionReply);

std::string objection(const RespRule& rule, Words words) {
  if (!rule.of_one) return rule.objection(words);
  if (words.size() > kMostWords) return std::string(kSyntaxError);
  std::string why = rule.objection(words);
  if (!why.empty()) return why;
  const bool all_short =
      std::ranges::all_of(words.subspan(std::min<std::size_t>(words.size(), 2)),
                          [](std::string_view word) { return word.size() <= kLongestWord; });
  return all_short ? std::string() : std::string(kNotAnInteger);
}

// As Redis says in cluster mode.
constexpr std::string_view kCrossSlot =
    "CROSSSLOT Keys in request don't hash to the same slot: no node that is up keeps all of these "
    "counters";

// A transaction has arrays of arrays, and a script any.
constexpr int kDeepestReply = kMaxScriptDepth + 1;

// Takes one reply of the kinds that decisions have from the front. False: there is none. A reply
// that is cut short would shift all later ones of the connection.
bool take_reply(std::string_view& bytes, int depth = kDeepestReply) {
  const std::size_t end = bytes.find("\r\n");
  if (bytes.empty() || end == bytes.npos) return false;
  const char kind = bytes.front();
  const std::string_view line = bytes.substr(1, end - 1);
  bytes.remove_prefix(end + 2);
  if (kind == '+' || kind == '-') return true;
  if (kind == '_') return line.empty();
  const auto number = to_integer(line);
  if (!number) return false;
  if (kind == ':') return true;
  if (kind == '$' || kind == '*') {
    if (*number == -1) return true;
    if (*number < 0 || *number > static_cast<std::int64_t>(kMaxDecisionReply)) return false;
  }
  const auto count = static_cast<std::size_t>(*number);
  if (kind == '$') {
    if (bytes.size() < count + 2 || bytes.substr(count, 2) != "\r\n") return false;
    bytes.remove_prefix(count + 2);
    return true;
  }
  bool sound = kind == '*' && depth > 0;
  for (std::size_t i = 0; sound && i < count; ++i) sound = take_reply(bytes, depth - 1);
  return sound;
}

std::string partly(std::int64_t done, std::string_view what, std::string error) {
  if (done == 0 || error.starts_with("INDOUBT")) return error;
  return "PARTIAL " + std::to_string(done) + " counters were " + std::string(what) +
         "; of the rest: " + error;
}

bool is_sound(std::string_view packed) {
  PackedReader from(packed);
  std::vector<std::string_view> words;
  std::size_t commands = 0;
  while (from.next(words)) ++commands;
  return from.sound() && (from.form() != PackedForm::command || commands == 1);
}

std::vector<std::string_view> each_once(std::vector<std::string_view> keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<std::string_view> keys_of_transaction(PackedReader& from) {
  std::vector<std::string_view> keys, words;
  while (from.next(words)) {
    const RespCommand* const command = find_command(words[0]);
    if (command == nullptr || !command->accepts(words.size())) continue;
    for_each_key(*command, std::span<const std::string_view>(words), [&](std::string_view key) {
      if (is_key(key)) keys.push_back(key);
    });
  }
  return each_once(std::move(keys));
}

// Carries out one command of a transaction, or the only one.
void carry_out(Words words, Decisions& on, RespWriter& to) {
  const RespCommand* const command = find_command(words[0]);
  const RespRule* const rule = command == nullptr ? nullptr : rule_of(*command);
  if (rule == nullptr || !command->accepts(words.size()))
    return to.error(
        "ERR the node that decides does not know this command: is it an older version?");
  carry_out(*command, *rule, words, on, to);
}

}  // namespace

RespDecider::RespDecider() = default;
RespDecider::~RespDecider() = default;

std::string RespDecider::decide(std::string_view packed, Decisions& on) const {
  PackedReader from(packed);
  std::string replies, reply;
  RespWriter each(replies, from.version()), whole(reply, from.version());
  const bool scripted =
      from.form() == PackedForm::script || from.form() == PackedForm::read_only_script;
  const auto script = scripted ? read_script(from) : std::nullopt;
  if (scripted ? !script : !is_sound(packed)) {
    whole.error("ERR these are no commands that a node decides on");
    return reply;
  }
  if (script) {
    if (!engine_) engine_ = std::make_unique<ScriptEngine>();
    return run_script(*engine_, *script, from.version(), on);
  }
  std::vector<std::string_view> words;
  std::size_t commands = 0;
  for (; from.next(words); ++commands) carry_out(words, on, each);
  if (from.form() == PackedForm::command) return replies;
  whole.array(commands);
  return reply + replies;
}

std::vector<std::string_view> RespDecider::keys(std::string_view packed) const {
  PackedReader from(packed);
  if (from.form() == PackedForm::command) return {};
  if (from.form() == PackedForm::transaction) return keys_of_transaction(from);
  const auto script = read_script(from);
  return script ? each_once(script->keys) : std::vector<std::string_view>();
}

void carry_out(const RespCommand& command, const RespRule& rule, Words words, Decisions& on,
               RespWriter& to) {
  if (const std::string why = objection(rule, words); !why.empty()) return to.error(why);
  bool all_known = true, all_sound = true;
  for_each_key(command, words, [&](std::string_view key) {
    all_sound = all_sound && is_key(key);
    all_known = all_known && on.find(key) != nullptr;
  });
  if (!all_sound) return to.error(kImpossibleKey);
  // As Redis says in cluster mode.
  if (!all_known)
    return to.error("ERR Script attempted to access a non local key in a cluster node");
  rule.carry_out(words, on, to);
}

const RespRule* rule_of(const RespCommand& command) {
  static const std::vector<const RespRule*> by_number = [] {
    std::vector<const RespRule*> all(resp_commands().size());
    for (const auto rules : {expiry_rules(), value_rules(), reset_rules(), counter_rules()}) {
      for (const RespRule& rule : rules) {
        const RespCommand* const of_rule = find_command(rule.name);
        QUIPU_CHECK(of_rule != nullptr, "each rule is that of a command", rule.name);
        all[number_of(*of_rule, nullptr)] = &rule;
      }
    }
    return all;
  }();
  return by_number[number_of(command, nullptr)];
}

std::optional<Together> together(RespConnection& connection, std::string_view packed) {
  if (packed.size() > kMaxDecisionWords) return std::nullopt;
  PackedReader from(packed);
  std::vector<std::string_view> words;
  Together together;
  together.op = {.words = packed, .kind = OpKind::decide, .ack = Ack::memory};
  while (from.next(words)) {
    const RespCommand& command = *find_command(words[0]);
    if (rule_of(command) == nullptr) return std::nullopt;
    for_each_key(command, std::span<const std::string_view>(words), [&](std::string_view key) {
      if (together.op.key.empty() && is_key(key)) together.op.key = key;
    });
  }
  PackedReader again(packed);
  together.keys = keys_of_transaction(again);
  if (together.keys.empty()) return std::nullopt;
  for (const std::string_view key : together.keys)
    together.op.ack = std::max(together.op.ack, connection.server().ack_for(key));
  return together;
}

DecisionOp decision_of(RespConnection& connection, Words words) {
  const RespRule* const rule = rule_of(*find_command(words[0]));
  QUIPU_CHECK(rule != nullptr, "a command that decides has a rule", words[0]);
  if (words[1].empty() || words[1].size() > kMaxKey) return {.error = std::string(kImpossibleKey)};
  if (std::string why = objection(*rule, words); !why.empty()) return {.error = std::move(why)};
  PackedCommands packed(PackedForm::command, connection.version());
  QUIPU_CHECK(packed.add(words), "a command about one counter has few words", words.size());
  return {{.key = words[1],
           .words = connection.keep(packed.take()),
           .kind = OpKind::decide,
           .ack = connection.server().ack_for(words[1])}};
}

void write_decided(RespConnection& connection, const Done& done, RespWriter& to) {
  if (done.code == Code::invalid_argument && done.detail == kDecidedApart)
    return connection.fail(to, kCrossSlot);
  if (done.code != Code::ok) return write_failure(connection, done, to);
  const std::string_view reply = done.detail;
  std::string_view rest = reply;
  if (!take_reply(rest) || !rest.empty())
    return connection.fail(to, "INDOUBT the node that decided gave no reply of this protocol");
  if (reply.starts_with('-')) return connection.fail(to, reply.substr(1, reply.size() - 3));
  to.encoded(reply);
}

bool Decided::take(const Done& done) {
  const std::string_view reply = done.detail;
  const std::string_view line = reply.substr(0, reply.find('\r'));
  std::string failed;
  if (done.code == Code::invalid_argument) {
    spread = true;
  } else if (done.code != Code::ok) {
    failed = change_error(done.code, done.detail);
  } else if (line.starts_with('-')) {
    failed = line.substr(1);
  } else {
    applied += line.starts_with(':') ? to_integer(line.substr(1)).value_or(0) : 1;
  }
  if (!failed.empty() && (error.empty() || failed.starts_with("INDOUBT"))) error = failed;
  return --open == 0;
}

void write_partly(RespConnection& connection, std::int64_t done, std::string_view what,
                  const std::string& error, RespWriter& to) {
  connection.fail(to, partly(done, what, error));
}

void decide(RespConnection& connection, Words words) {
  const DecisionOp decision = decision_of(connection, words);
  if (!decision.error.empty()) return connection.error(decision.error);
  ask_decision(connection, decision.op);
}

void ask_decision(RespConnection& connection, const Op& op) {
  if (op.ack == Ack::quorum) {
    connection.run([&connection](const RespAnswer& answer, RespWriter& to) {
      write_decided(connection, *answer.done, to);
      return true;
    });
    return connection.again({op});
  }
  connection.decide(op, [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
    write_decided(from, *answer.done, to);
    return true;
  });
}

void refuse(const Decision& on, Code why, RespWriter& to) { refuse_rest(on, why, 0, {}, to); }

void refuse_rest(const Decision& on, Code why, std::int64_t done, std::string_view what,
                 RespWriter& to) {
  to.error(partly(done, what, change_error(why, on.reason(why))));
}

bool writable(const Decision::Held& held, const Decision& on, RespWriter& to) {
  if (held.kind != Kind::sum) {
    to.error(kWrongType);
    return false;
  }
  if (held.total) return true;
  refuse(on, Code::out_of_range, to);
  return false;
}

void write_held(const Decision::Held& held, RespWriter& to) {
  held.exists ? to.bulk(held.total.value_or(0)) : to.null();
}

std::optional<ExpiryWord> expiry_word(std::string_view word) {
  if (same_word(word, "ex")) return ExpiryWord{};
  if (same_word(word, "px")) return ExpiryWord{.milliseconds = true};
  if (same_word(word, "exat")) return ExpiryWord{.absolute = true};
  if (same_word(word, "pxat")) return ExpiryWord{.milliseconds = true, .absolute = true};
  return std::nullopt;
}

std::optional<Wall> moment_of(const ExpiryWord& expiry, Wall from) {
  std::int64_t ms = expiry.count;
  if (!expiry.milliseconds && __builtin_mul_overflow(ms, std::int64_t{1000}, &ms))
    return std::nullopt;
  const std::int64_t base = expiry.absolute ? 0 : from.time_since_epoch().count();
  if (__builtin_add_overflow(ms, base, &ms)) return std::nullopt;
  return Wall{std::chrono::milliseconds(
      std::clamp<std::int64_t>(ms, 1, kLatestDate.time_since_epoch().count()))};
}

std::optional<Wall> end_by(const ExpiryWord& expiry, std::string_view command, const Decision& on,
                           RespWriter& to) {
  const std::optional<Wall> from = on.lives_from();
  if (!from) {
    refuse(on, Code::unavailable, to);
    return std::nullopt;
  }
  const std::optional<Wall> at = moment_of(expiry, *from);
  if (!at) to.error(invalid_expiry(command));
  return at;
}

std::string invalid_expiry(std::string_view command) {
  return "ERR invalid expire time in '" + std::string(command) + "' command";
}

}  // namespace quipu
