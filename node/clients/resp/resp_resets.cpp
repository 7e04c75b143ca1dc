// Commands that reset counters.
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- decisions ----

void delete_all(Words words, Decisions& on, RespWriter& to) {
  std::int64_t deleted = 0;
  for (const std::string_view key : words.subspan(1)) {
    Decision& one = *on.find(key);
    if (!one.held().exists) continue;
    if (const Code code = one.reset(); code != Code::ok)
      return refuse_rest(one, code, deleted, "reset", to);
    ++deleted;
  }
  to.integer(deleted);
}

void get_and_delete(bool, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (!held.exists) return to.null();
  if (held.kind != Kind::sum) return to.error(kWrongType);
  const Code code = held.total ? on.reset() : Code::out_of_range;
  code == Code::ok ? to.bulk(*held.total) : refuse(on, code, to);
}

constexpr std::array kResetRules{
    rule_of_several<delete_all>("del"),
    rule_of_several<delete_all>("unlink"),
    rule<read_key_alone, get_and_delete>("getdel"),
};

// ---- DEL ----

// A decision for each counter, all at once; the reply is how many there were. Counters that are
// spread over shards are looked for and reset after that. If several fail, the reply is the error
// with the least certain outcome.
class Deletion {
 public:
  Deletion(RespConnection& connection, Words keys)
      : connection_(connection), read_(connection, keys, ReadLevel::fresh) {
    decided_.open = keys.size();
  }

  bool operator()(const RespAnswer& answer, RespWriter& to) {
    const Done* const done = answer.done;
    if (decided_.open > 0) {
      if (!decided_.take(*done)) return false;
      deleted_ = decided_.applied;
      if (!decided_.spread || !decided_.error.empty()) return tell(to);
      read_.ask();
      return false;
    }
    if (done == nullptr && !read_.take(answer)) return false;
    if (done == nullptr) return reset_existing(to);
    if (describe(done->code).outcome > describe(worst_.code).outcome) worst_ = *done;
    deleted_ += done->code == Code::ok ? 1 : 0;
    return --open_ == 0 && tell(to);
  }

 private:
  bool reset_existing(RespWriter& to) {
    if (const Value* failed = read_.failed()) {
      decided_.error = unread_error(failed->code, failed->detail);
      return tell(to);
    }
    std::set<std::string_view> named;
    std::vector<Op> resets;
    for (std::size_t i = 0; i < read_.keys().size(); ++i) {
      const Value& value = read_.values()[i];  // with one shard, it was decided on before
      if (value.exists && value.shards > 1 && named.insert(read_.keys()[i]).second)
        resets.push_back(reset_of(connection_, read_.keys()[i]));
    }
    open_ = resets.size();
    if (open_ == 0) return tell(to);
    connection_.again(std::move(resets));
    return false;
  }
  bool tell(RespWriter& to) const {
    std::string error = decided_.error;
    if (error.empty() && worst_.code != Code::ok) error = change_error(worst_.code, worst_.detail);
    error.empty() ? to.integer(deleted_) : write_partly(connection_, deleted_, "reset", error, to);
    return true;
  }

  RespConnection& connection_;
  Decided decided_;
  ReadAll read_;
  std::size_t open_ = 0;
  std::int64_t deleted_ = 0;
  Done worst_;
};

void del(RespConnection& connection, Words words) {
  std::vector<Op> ops;
  for (const std::string_view key : words.subspan(1)) {
    DecisionOp decision = decision_of(connection, std::array<std::string_view, 2>{"del", key});
    if (!decision.error.empty()) return connection.error(decision.error);
    ops.push_back(decision.op);
  }
  const auto deletion = std::make_shared<Deletion>(connection, words.subspan(1));
  connection.run(
      [deletion](const RespAnswer& answer, RespWriter& to) { return (*deletion)(answer, to); });
  connection.again(std::move(ops));
}

// ---- GETDEL ----

// A counter that is spread over shards is read, and then reset. Adds between these two steps are
// cleared, and no reply has them.
void getdel(RespConnection& connection, Words words) {
  if (connection.holds_alone(words[1])) return decide(connection, words);
  const DecisionOp decision = decision_of(connection, words);
  if (!decision.error.empty()) return connection.error(decision.error);
  const std::string key(words[1]);
  connection.run([&connection, key, decided = false, value = std::int64_t{0}](
                     const RespAnswer& answer, RespWriter& to) mutable {
    const Done* const done = answer.done;
    if (!std::exchange(decided, true)) {
      if (done->code == Code::invalid_argument) {
        connection.again(std::vector<std::string_view>{key}, ReadLevel::fresh);
        return false;
      }
      write_decided(connection, *done, to);
      return true;
    }
    if (done != nullptr) {
      done->code == Code::ok ? to.bulk(value) : write_failure(connection, *done, to);
      return true;
    }
    const Value& read = only_value(answer);
    if (read.code != Code::ok) {
      connection.fail(to, unread_error(read.code, read.detail));
      return true;
    }
    if (!read.exists) {
      write_value(connection, read, to);
      return true;
    }
    value = read.value;
    connection.again({reset_of(connection, key)});
    return false;
  });
  connection.again({decision.op});
}

constexpr std::array kResetCommands{
    RespCommand{"del", -2, del, kMayReset, "write", all_keys("RM delete"), "@keyspace @write @slow",
                "generic", "1.0.0", "Resets counters; tells how many existed.", "key..."},
    RespCommand{"unlink", -2, del, kMayReset, "write fast", all_keys("RM delete"),
                "@keyspace @write @fast", "generic", "4.0.0",
                "Resets counters; tells how many existed.", "key..."},
    RespCommand{"getdel", 2, getdel, kMayRead | kMayReset, "write fast",
                one_key("RW access delete"), "@write @string @fast", "string", "6.2.0",
                "Tells a counter's total and resets it.", "key"},
};

}  // namespace

std::span<const RespRule> reset_rules() { return kResetRules; }
std::span<const RespCommand> reset_commands() { return kResetCommands; }

}  // namespace quipu
