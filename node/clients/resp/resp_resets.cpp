// Commands that reset counters: several questions, one after the other.
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// Resets the counters that exist, all at once; the reply is their number. If several fail, the
// reply is the error with the least certain outcome.
class Deletion {
 public:
  Deletion(RespConnection& connection, Words keys)
      : connection_(connection), read_(connection, keys, ReadLevel::fresh) {}

  void begin() { read_.ask(); }
  bool operator()(const RespAnswer& answer, RespWriter& to) {
    const Done* const done = answer.done;
    if (done == nullptr && !read_.take(answer)) return false;
    if (done == nullptr) return reset_existing(to);
    if (describe(done->code).outcome > describe(worst_.code).outcome) worst_ = *done;
    deleted_ += done->code == Code::ok ? 1 : 0;
    return --open_ == 0 && tell(to);
  }

 private:
  bool reset_existing(RespWriter& to) {
    if (const Value* failed = read_.failed()) {
      connection_.fail(to, unread_error(failed->code, failed->detail));
      return true;
    }
    std::set<std::string_view> named;
    std::vector<Op> resets;
    for (std::size_t i = 0; i < read_.keys().size(); ++i) {
      if (read_.values()[i].exists && named.insert(read_.keys()[i]).second)
        resets.push_back(reset_of(connection_, read_.keys()[i]));
    }
    open_ = resets.size();
    if (open_ == 0) return tell(to);
    connection_.again(std::move(resets));
    return false;
  }
  bool tell(RespWriter& to) const {
    if (worst_.code == Code::ok) {
      to.integer(deleted_);
    } else if (deleted_ == 0 || describe(worst_.code).outcome == Outcome::unknown) {
      write_failure(connection_, worst_, to);
    } else {
      connection_.fail(
          to, "PARTIAL " + std::to_string(deleted_) +
                  " counters were reset; of the rest: " + reason(worst_.code, worst_.detail));
    }
    return true;
  }

  RespConnection& connection_;
  ReadAll read_;
  std::size_t open_ = 0;
  std::int64_t deleted_ = 0;
  Done worst_;
};

void del(RespConnection& connection, Words words) {
  const auto deletion = std::make_shared<Deletion>(connection, words.subspan(1));
  connection.run(
      [deletion](const RespAnswer& answer, RespWriter& to) { return (*deletion)(answer, to); });
  deletion->begin();
}

// Adds between its two steps are cleared, too, and no reply has them.
void getdel(RespConnection& connection, Words words) {
  const std::string key(words[1]);
  connection.run([&connection, key, value = std::int64_t{0}](const RespAnswer& answer,
                                                             RespWriter& to) mutable {
    if (const Done* const done = answer.done) {
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
  connection.again(std::vector<std::string_view>{words[1]}, ReadLevel::fresh);
}

// Redis's error for SET's options, from words[3] on; or that they are not supported here.
std::string objection_to_options(Words words) {
  std::string condition;  // NX or XX
  bool timed = false;     // EX, KEEPTTL, …: one of them
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string option = lowered(words[i]);
    if (option == "nx" || option == "xx") {
      if (!condition.empty() && condition != option) return std::string(kSyntaxError);
      condition = option;
    } else if (option == "keepttl" || option == "ex" || option == "px" || option == "exat" ||
               option == "pxat") {
      if (std::exchange(timed, true)) return std::string(kSyntaxError);
      if (option != "keepttl" && ++i == words.size()) return std::string(kSyntaxError);
    } else if (option != "get") {
      return std::string(kSyntaxError);
    }
  }
  return "ERR SET with option '" + std::string(words[3]) + "' is not supported";
}

// An observed reset, and then an add: adds of others in between are kept. If this node executes
// both itself, they go together, and share a sync.
class Setting {
 public:
  Setting(RespConnection& connection, std::string_view key, std::int64_t amount)
      : connection_(connection),
        key_(key),
        amount_(amount),
        together_(connection.server().ack_for(key) != Ack::quorum && connection.holds_alone(key)) {}

  void begin() {
    std::vector<Op> ops{reset_of(connection_, key_)};
    if (together_) ops.push_back(addition());
    for (Op& op : ops) op.shard = together_ ? ShardIndex{0} : kAnyShard;
    connection_.again(std::move(ops));
  }
  bool operator()(const RespAnswer& answer, RespWriter& to) {
    const Done& done = *answer.done;
    if (!reset_) {
      reset_ = done;
      if (together_) return false;
      if (done.code != Code::ok) return tell(done, to);
      connection_.again({addition()});
      return false;
    }
    // The error that refused the reset has refused the add, too: nothing came between them.
    return tell(reset_->code == Code::ok ? done : *reset_, to);
  }

 private:
  [[nodiscard]] Op addition() const {
    return {.key = key_, .amount = amount_, .ack = connection_.server().ack_for(key_)};
  }
  bool tell(const Done& worst, RespWriter& to) const {
    const bool half_done =
        reset_->code == Code::ok && describe(worst.code).outcome == Outcome::not_applied;
    if (worst.code == Code::ok) {
      to.simple("OK");
    } else if (half_done) {
      connection_.fail(to, "PARTIAL the counter was reset, and the number not added: " +
                               reason(worst.code, worst.detail));
    } else {
      write_failure(connection_, worst, to);
    }
    return true;
  }

  RespConnection& connection_;
  const std::string key_;
  const std::int64_t amount_;
  const bool together_;
  std::optional<Done> reset_;  // its outcome
};

void set(RespConnection& connection, Words words) {
  if (words.size() > 3) return connection.error(objection_to_options(words));
  const auto number = to_integer(words[2]);
  if (!number) return connection.error(kNotAnInteger);
  // Its reset alone would be carried out.
  if (words[1].size() <= kMaxKey && connection.server().namespaces().forbids(words[1]))
    return connection.error("ERR " + undefined_namespace(words[1]));
  const auto setting = std::make_shared<Setting>(connection, words[1], *number);
  connection.run(
      [setting](const RespAnswer& answer, RespWriter& to) { return (*setting)(answer, to); });
  setting->begin();
}

constexpr std::array kResetCommands{
    RespCommand{"del", -2, del, "write", all_keys("RM delete"), "@keyspace @write @slow", "generic",
                "1.0.0", "Resets counters; tells how many existed.", "key..."},
    RespCommand{"unlink", -2, del, "write fast", all_keys("RM delete"), "@keyspace @write @fast",
                "generic", "4.0.0", "Resets counters; tells how many existed.", "key..."},
    RespCommand{"getdel", 2, getdel, "write fast", one_key("RW access delete"),
                "@write @string @fast", "string", "6.2.0", "Tells a counter's total and resets it.",
                "key"},
    RespCommand{"set", -3, set, "write denyoom", one_key("OW update"), "@write @string @slow",
                "string", "1.0.0",
                "Resets a counter and adds a number: others' adds meanwhile are kept.",
                "key value:integer"},
};

}  // namespace

std::span<const RespCommand> reset_commands() { return kResetCommands; }

}  // namespace quipu
