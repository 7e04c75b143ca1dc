#include "node/clients/resp/resp_decisions.h"

#include <algorithm>

#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// No command that decides needs more.
constexpr std::size_t kMostWords = 32;
// The longest number. It also bounds numbers that nothing reads: the x of SET k 1 EX x EX 5.
constexpr std::size_t kLongestWord = 20;
// A version; name and key; then pairs of an option and a number, each word behind its length.
constexpr std::size_t kLongestCommandName = 9, kLongestOption = 8;
static_assert(1 + 2 + kLongestCommandName + 2 + kMaxKey +
                  (kMostWords - 2) / 2 * (2 + kLongestOption + 2 + kLongestWord) <=
              kMaxDecisionWords);

const RespRule* find_rule(std::string_view name) {
  for (const auto rules : {expiry_rules(), value_rules(), reset_rules()}) {
    const auto at = std::ranges::find_if(
        rules, [name](const RespRule& one) { return same_word(name, one.name); });
    if (at != rules.end()) return &*at;
  }
  return nullptr;
}

std::string objection(const RespRule& rule, Words words) {
  if (words.size() > kMostWords) return std::string(kSyntaxError);
  std::string why = rule.objection(words);
  if (!why.empty()) return why;
  const bool all_short = std::ranges::all_of(
      words.subspan(2), [](std::string_view word) { return word.size() <= kLongestWord; });
  return all_short ? std::string() : std::string(kNotAnInteger);
}

// ---- words that travel: the version of the reply, then each word behind its length ----

std::string pack(RespWriter::Version version, Words words) {
  std::string packed(1, static_cast<char>(version));
  for (const std::string_view word : words) {
    const auto length = static_cast<std::uint16_t>(word.size());
    packed.push_back(static_cast<char>(length & 0xff));
    packed.push_back(static_cast<char>(length >> 8));
    packed.append(word);
  }
  return packed;
}

struct Unpacked {
  RespWriter::Version version{};
  std::vector<std::string_view> words{};  // none: these are no such bytes
};

Unpacked unpack(std::string_view packed) {
  Unpacked result;
  if (packed.empty() || (packed[0] != 2 && packed[0] != 3)) return {};
  result.version = static_cast<RespWriter::Version>(packed[0]);
  packed.remove_prefix(1);
  while (!packed.empty()) {
    if (packed.size() < 2 || result.words.size() == kMostWords) return {};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(packed[i]); };
    const std::size_t length = byte(0) | std::size_t{byte(1)} << 8;
    packed.remove_prefix(2);
    if (length > packed.size()) return {};
    result.words.push_back(packed.substr(0, length));
    packed.remove_prefix(length);
  }
  return result;
}

// Takes one reply of the kinds that decisions have from the front. False: there is none. A reply
// that is cut short would shift all later ones of the connection.
bool take_reply(std::string_view& bytes) {
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
  bool sound = kind == '*';
  for (std::size_t i = 0; sound && i < count; ++i)
    sound = !bytes.starts_with('*') && take_reply(bytes);
  return sound;
}

class RespDecider final : public Decider {
 public:
  std::string decide(std::string_view packed, Decision& on) const override {
    const Unpacked from = unpack(packed);
    std::string reply;
    RespWriter to(reply, from.version);
    const RespRule* const rule = from.words.size() < 2 ? nullptr : find_rule(from.words[0]);
    const RespCommand* const command = rule == nullptr ? nullptr : find_command(rule->name);
    if (command == nullptr || !command->accepts(from.words.size())) {
      to.error("ERR the node that decides does not know this command: is it an older version?");
    } else if (const std::string why = objection(*rule, from.words); !why.empty()) {
      to.error(why);
    } else {
      rule->carry_out(from.words, on, to);
    }
    return reply;
  }
};

}  // namespace

const Decider& resp_decider() {
  static const RespDecider decider;
  return decider;
}

DecisionOp decision_of(RespConnection& connection, Words words) {
  const RespRule* const rule = find_rule(words[0]);
  QUIPU_CHECK(rule != nullptr, "a command that decides has a rule", words[0]);
  if (words[1].empty() || words[1].size() > kMaxKey)
    return {.error = "ERR a key has 1 to 512 bytes"};
  if (std::string why = objection(*rule, words); !why.empty()) return {.error = std::move(why)};
  return {{.key = words[1],
           .words = connection.keep(pack(connection.version(), words)),
           .kind = OpKind::decide,
           .ack = connection.server().ack_for(words[1])}};
}

void write_decided(RespConnection& connection, const Done& done, RespWriter& to) {
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
  if (done == 0 || error.starts_with("INDOUBT")) return connection.fail(to, error);
  connection.fail(to, "PARTIAL " + std::to_string(done) + " counters were " + std::string(what) +
                          "; of the rest: " + error);
}

void decide(RespConnection& connection, Words words) {
  const DecisionOp decision = decision_of(connection, words);
  if (!decision.error.empty()) return connection.error(decision.error);
  if (decision.op.ack == Ack::quorum) {
    // It asks a majority first. What is behind it must not come before.
    connection.run([&connection](const RespAnswer& answer, RespWriter& to) {
      write_decided(connection, *answer.done, to);
      return true;
    });
    return connection.again({decision.op});
  }
  connection.change(decision.op,
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      write_decided(from, *answer.done, to);
                      return true;
                    });
}

void refuse(const Decision& on, Code why, RespWriter& to) {
  to.error(change_error(why, on.reason(why)));
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
