// Commands that give a counter a value, or change it within bounds: each is one decision.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// ---- words ----

// What a command may say about a counter's end, and on what condition.
struct Options {
  std::optional<ExpiryWord> expiry{};
  bool nx = false, xx = false, get = false;
};

// What a time in a command that sets one must be: later than 1970.
std::string objection_to_time(const ExpiryWord& expiry, std::string_view command) {
  if (expiry.keep) return {};
  return expiry.count > 0 && moment_of(expiry, Wall{}) ? std::string() : invalid_expiry(command);
}

// A deadline among a command's words. Its number is read after all words, as in Redis.
struct NamedExpiry {
  std::optional<ExpiryWord> word{};
  std::string_view number{};
};

enum class Taken : std::uint8_t { no, yes, wrong };

// Takes the deadline at words[i], with its number. As in Redis, a second one must be of the same
// kind, and replaces the first.
Taken take_expiry(Words words, std::size_t& i, std::string_view keep, NamedExpiry& named) {
  std::optional<ExpiryWord> word = expiry_word(words[i]);
  if (!word && same_word(words[i], keep)) word = ExpiryWord{.keep = true};
  if (!word) return Taken::no;
  if (named.word && *named.word != *word) return Taken::wrong;
  if (!word->keep && i + 1 == words.size()) return Taken::wrong;
  if (!word->keep) named.number = words[++i];
  named.word = word;
  return Taken::yes;
}

// The deadline with its number, or why it is none.
ReadWords<std::optional<ExpiryWord>> read_number(const NamedExpiry& named,
                                                 std::string_view command) {
  if (!named.word || named.word->keep) return {named.word};
  const auto count = to_integer(named.number);
  if (!count) return {.error = std::string(kNotAnInteger)};
  ExpiryWord expiry = *named.word;
  expiry.count = *count;
  return {expiry, objection_to_time(expiry, command)};
}

// The value, and when it ends. Nullopt: it was refused, and the reply says why.
std::optional<NewValue> new_value(std::int64_t value, const std::optional<ExpiryWord>& expiry,
                                  std::string_view command, Decision& on,
                                  const Decision::Held& held, RespWriter& to) {
  NewValue wanted{.value = value};
  if (!expiry || (expiry->keep && !held.exists)) {
    wanted.ttl = on.usual_ttl();
  } else if (expiry->keep) {
    wanted.at = held.ends;
  } else {
    const std::optional<Wall> at = end_by(*expiry, command, on, to);
    if (!at) return std::nullopt;
    if (expiry->absolute) wanted.at = *at;
    if (!expiry->absolute) wanted.ttl = *at - *on.lives_from();
  }
  return wanted;
}

// ---- SET, SETEX, PSETEX, SETNX, GETSET ----

enum class Told : std::uint8_t { ok, old, number };  // the reply

struct Setting {
  std::string_view command;
  std::int64_t value = 0;
  Options options{};
  Told told = Told::ok;
};

ReadWords<Setting> with_value(Setting wanted, std::string_view word) {
  const auto value = to_integer(word);
  if (!value) return {.error = std::string(kNotAnInteger)};
  wanted.value = *value;
  return {wanted};
}

ReadWords<Setting> read_set(Words words) {
  Setting wanted{"set"};
  Options& options = wanted.options;
  NamedExpiry named;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const Taken taken = take_expiry(words, i, "keepttl", named);
    if (taken == Taken::yes) continue;
    bool* const option = taken == Taken::wrong        ? nullptr
                         : same_word(words[i], "nx")  ? &options.nx
                         : same_word(words[i], "xx")  ? &options.xx
                         : same_word(words[i], "get") ? &options.get
                                                      : nullptr;
    if (option == nullptr) return {.error = std::string(kSyntaxError)};
    *option = true;
  }
  if (options.nx && options.xx) return {.error = std::string(kSyntaxError)};
  auto expiry = read_number(named, "set");
  if (!expiry.error.empty()) return {.error = std::move(expiry.error)};
  options.expiry = expiry.wanted;
  if (options.get) wanted.told = Told::old;
  return with_value(wanted, words[2]);
}

template <bool kMilliseconds>
ReadWords<Setting> read_setex(Words words) {
  Setting wanted{kMilliseconds ? "psetex" : "setex"};
  const auto count = to_integer(words[2]);
  if (!count) return {.error = std::string(kNotAnInteger)};
  wanted.options.expiry = ExpiryWord{.count = *count, .milliseconds = kMilliseconds};
  if (std::string why = objection_to_time(*wanted.options.expiry, wanted.command); !why.empty())
    return {.error = std::move(why)};
  return with_value(wanted, words[3]);
}

ReadWords<Setting> read_setnx(Words words) {
  return with_value({.command = "setnx", .options = {.nx = true}, .told = Told::number}, words[2]);
}

ReadWords<Setting> read_getset(Words words) {
  return with_value({.command = "getset", .told = Told::old}, words[2]);
}

void set(const Setting& wanted, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (wanted.told == Told::old && !writable(held, on, to)) return;
  const bool applies = held.exists ? !wanted.options.nx : !wanted.options.xx;
  if (applies) {
    const auto value = new_value(wanted.value, wanted.options.expiry, wanted.command, on, held, to);
    if (!value) return;
    if (const Code code = on.set(*value); code != Code::ok) return refuse(on, code, to);
  }
  if (wanted.told == Told::old) {
    write_held(held, to);
  } else if (wanted.told == Told::number) {
    to.integer(applies ? 1 : 0);
  } else {
    applies ? to.simple("OK") : to.null();
  }
}

// ---- GETEX ----

struct Getting {
  std::optional<ExpiryWord> expiry{};
  std::string wrong_time{};  // as in Redis, an error only where there is a counter
};

ReadWords<Getting> read_getex(Words words) {
  NamedExpiry named;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (take_expiry(words, i, "persist", named) != Taken::yes)
      return {.error = std::string(kSyntaxError)};
  }
  auto expiry = read_number(named, "getex");
  return {{expiry.wanted, std::move(expiry.error)}};
}

// PERSIST, or a deadline. False: it was refused, and the reply says why.
bool set_end(const ExpiryWord& expiry, std::string_view command, Decision& on, RespWriter& to) {
  std::optional<Wall> at = Wall{};
  if (!expiry.keep) {
    at = end_by(expiry, command, on, to);
  } else if (on.held().ends == Wall{}) {
    return true;
  }
  if (!at) return false;
  const Code code = on.expire(*at);
  if (code != Code::ok) refuse(on, code, to);
  return code == Code::ok;
}

void getex(const Getting& wanted, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (!writable(held, on, to)) return;
  if (held.exists && !wanted.wrong_time.empty()) return to.error(wanted.wrong_time);
  if (held.exists && wanted.expiry && !set_end(*wanted.expiry, "getex", on, to)) return;
  write_held(held, to);
}

// ---- INCREX ----

struct Increment {
  std::int64_t amount = 1;
  std::int64_t least = kLeast, most = kMost;
  bool saturate = false;
  bool if_endless = false;  // ENX
  std::optional<ExpiryWord> expiry{};
};

ReadWords<Increment> read_increx(Words words) {
  Increment wanted;
  std::string error;
  NamedExpiry named;
  bool named_amount = false;
  const auto number = [&](std::size_t& i, std::int64_t& to) {
    const auto value = i + 1 < words.size() ? to_integer(words[i + 1]) : std::nullopt;
    if (!value) error = i + 1 < words.size() ? kNotAnInteger : kSyntaxError;
    to = value.value_or(0);
    ++i;
  };
  for (std::size_t i = 2; i < words.size() && error.empty(); ++i) {
    const Taken taken = take_expiry(words, i, "persist", named);
    if (taken == Taken::wrong) return {.error = std::string(kSyntaxError)};
    if (taken == Taken::yes) continue;
    if (same_word(words[i], "byint")) {
      if (std::exchange(named_amount, true)) return {.error = std::string(kSyntaxError)};
      number(i, wanted.amount);
    } else if (same_word(words[i], "byfloat")) {
      return {.error = "ERR a counter has no fractions: use BYINT"};
    } else if (same_word(words[i], "lbound")) {
      number(i, wanted.least);
    } else if (same_word(words[i], "ubound")) {
      number(i, wanted.most);
    } else if (same_word(words[i], "saturate")) {
      wanted.saturate = true;
    } else if (same_word(words[i], "enx")) {
      wanted.if_endless = true;
    } else {
      return {.error = std::string(kSyntaxError)};
    }
  }
  if (error.empty() && wanted.least > wanted.most)
    error = "ERR LBOUND can't be greater than UBOUND";
  if (error.empty() && wanted.if_endless && (!named.word || named.word->keep)) error = kSyntaxError;
  if (!error.empty()) return {.error = std::move(error)};
  auto expiry = read_number(named, "increx");
  wanted.expiry = expiry.wanted;
  return {wanted, std::move(expiry.error)};
}

void increx(const Increment& wanted, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (!writable(held, on, to)) return;
  const std::int64_t before = *held.total;
  std::int64_t after = 0;
  const bool overflows = __builtin_add_overflow(before, wanted.amount, &after);
  if (overflows) after = wanted.amount > 0 ? kMost : kLeast;
  const std::int64_t within = std::clamp(after, wanted.least, wanted.most);
  std::int64_t applied = 0;
  const bool tellable = !__builtin_sub_overflow(within, before, &applied);
  if (!tellable || (!wanted.saturate && (overflows || within != after))) {
    to.array(2);
    to.integer(before);
    return to.integer(0);
  }
  // Where the end would be refused, nothing is added.
  const bool sets_end = wanted.expiry && !(wanted.if_endless && held.exists && held.ends != Wall{});
  if (sets_end && !wanted.expiry->keep && !end_by(*wanted.expiry, "increx", on, to)) return;
  if (const Code code = on.add(applied); code != Code::ok) return refuse(on, code, to);
  if (sets_end && !set_end(*wanted.expiry, "increx", on, to)) return;
  to.array(2);
  to.integer(within);
  to.integer(applied);
}

constexpr std::string_view kMsetArity = "ERR wrong number of arguments for 'mset' command";

void mset_within(Words words, Decisions& on, RespWriter& to) {
  if (words.size() % 2 == 0) return to.error(kMsetArity);
  for (std::size_t i = 2; i < words.size(); i += 2)
    if (!to_integer(words[i])) return to.error(kNotAnInteger);
  for (std::size_t i = 1; i < words.size(); i += 2) {
    Decision& one = *on.find(words[i]);
    const NewValue wanted{.value = *to_integer(words[i + 1]), .ttl = one.usual_ttl()};
    if (const Code code = one.set(wanted); code != Code::ok)
      return refuse_rest(one, code, static_cast<std::int64_t>(i / 2), "set", to);
  }
  to.simple("OK");
}

constexpr std::array kValueRules{
    rule<read_set, set>("set"),
    rule<read_setex<false>, set>("setex"),
    rule<read_setex<true>, set>("psetex"),
    rule<read_setnx, set>("setnx"),
    rule<read_getset, set>("getset"),
    rule<read_getex, getex>("getex"),
    rule<read_increx, increx>("increx"),
    rule_of_several<mset_within>("mset"),
};

// ---- counters that are spread over shards ----

// An observed reset, and then an add: nobody decides on all of its shards at once.
class SpreadSetting {
 public:
  SpreadSetting(RespConnection& connection, Words words)
      : connection_(connection), key_(words[1]), value_(to_integer(words[2]).value_or(0)) {}

  bool operator()(const RespAnswer& answer, RespWriter& to) {
    const Done& done = *answer.done;
    if (step_ == Step::decision && done.code != Code::invalid_argument) {
      write_decided(connection_, done, to);
      return true;
    }
    if (step_ == Step::decision && connection_.server().namespaces().forbids(key_)) {
      // Its reset alone would be carried out.
      connection_.fail(to, "ERR " + undefined_namespace(key_));
      return true;
    }
    if (step_ != Step::add && (step_ == Step::decision || done.code == Code::ok)) {
      step_ = step_ == Step::decision ? Step::reset : Step::add;
      connection_.again({step_ == Step::reset ? reset_of(connection_, key_) : addition()});
      return false;
    }
    if (done.code == Code::ok) {
      to.simple("OK");
    } else if (step_ == Step::add && describe(done.code).outcome == Outcome::not_applied) {
      connection_.fail(to, "PARTIAL the counter was reset, and the number not added: " +
                               reason(done.code, done.detail));
    } else {
      write_failure(connection_, done, to);
    }
    return true;
  }

 private:
  enum class Step { decision, reset, add };
  [[nodiscard]] Op addition() const {
    return {.key = key_, .amount = value_, .ack = connection_.server().ack_for(key_)};
  }

  RespConnection& connection_;
  const std::string key_;
  const std::int64_t value_;
  Step step_ = Step::decision;
};

void set_command(RespConnection& connection, Words words) {
  const bool may_be_spread = words.size() == 3 && !connection.holds_alone(words[1]);
  if (!may_be_spread) return decide(connection, words);
  const DecisionOp decision = decision_of(connection, words);
  if (!decision.error.empty()) return connection.error(decision.error);
  const auto setting = std::make_shared<SpreadSetting>(connection, words);
  connection.run(
      [setting](const RespAnswer& answer, RespWriter& to) { return (*setting)(answer, to); });
  connection.again({decision.op});
}

// ---- MSET ----

// One decision for each key, all asked together. Not one change: another may come in between, and
// some may be refused.
void mset(RespConnection& connection, Words words) {
  if (words.size() % 2 == 0) return connection.error(kMsetArity);
  std::vector<Op> ops;
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::array<std::string_view, 3> one{"set", words[i], words[i + 1]};
    DecisionOp decision = decision_of(connection, one);
    if (!decision.error.empty()) return connection.error(decision.error);
    ops.push_back(decision.op);
  }
  connection.run([&connection, decided = Decided{.open = ops.size()}](const RespAnswer& answer,
                                                                      RespWriter& to) mutable {
    if (!decided.take(*answer.done)) return false;
    if (decided.spread && decided.error.empty())
      decided.error = "ERR a counter that is spread over shards is set with SET alone";
    decided.error.empty() ? to.simple("OK")
                          : write_partly(connection, decided.applied, "set", decided.error, to);
    return true;
  });
  connection.again(std::move(ops));
}

constexpr std::string_view kValueWrite = "@write @string @slow";
constexpr std::string_view kValueFast = "@write @string @fast";

constexpr std::array kValueCommands{
    RespCommand{"set", -3, set_command, kMayCount | kMayReset, "write denyoom",
                one_key("RW access update"), kValueWrite, "string", "1.0.0",
                "Gives a counter a value, and may say when it ends.",
                "key value:integer [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT "
                "unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]"},
    RespCommand{"setex", 4, decide, kMayCount | kMayReset, "write denyoom", one_key("OW update"),
                kValueWrite, "string", "2.0.0",
                "Gives a counter a value that ends after some seconds.",
                "key seconds:integer value:integer"},
    RespCommand{"psetex", 4, decide, kMayCount | kMayReset, "write denyoom", one_key("OW update"),
                kValueWrite, "string", "2.6.0",
                "Gives a counter a value that ends after some milliseconds.",
                "key milliseconds:integer value:integer"},
    RespCommand{"setnx", 3, decide, kMayCount | kMayReset, "write denyoom fast",
                one_key("OW insert"), kValueFast, "string", "1.0.0",
                "Gives a counter a value if it does not exist.", "key value:integer"},
    RespCommand{"getset", 3, decide, kMayCount | kMayReset, "write denyoom fast",
                one_key("RW access update"), kValueFast, "string", "1.0.0",
                "Gives a counter a value, and tells the one before.", "key value:integer"},
    RespCommand{"getex", -2, decide, kMayRead | kMayReset, "write fast",
                one_key("RW access update"), kValueFast, "string", "6.2.0",
                "Tells a counter's total, and may say when it ends.",
                "key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT "
                "unix-time-milliseconds|PERSIST]"},
    RespCommand{"increx", -2, decide, kMayCount | kMayReset, "write denyoom fast",
                one_key("RW access update"), kValueFast, "string", "8.8.0",
                "Adds to a counter within bounds, and may say when it ends; tells the total and "
                "what was added.",
                "key [BYINT increment:integer] [LBOUND lowerbound:integer] [UBOUND "
                "upperbound:integer] [SATURATE] [EX seconds|PX milliseconds|EXAT "
                "unix-time-seconds|PXAT unix-time-milliseconds|PERSIST] [ENX]"},
    RespCommand{"mset",
                -3,
                mset,
                kMayCount | kMayReset,
                "write denyoom",
                {1, -1, 2, "OW update"},
                kValueWrite,
                "string",
                "1.0.1",
                "Gives several counters values, each by itself.",
                "key value:integer..."},
};

}  // namespace

std::span<const RespRule> value_rules() { return kValueRules; }
std::span<const RespCommand> value_commands() { return kValueCommands; }

}  // namespace quipu
