// Commands that add to a counter or read some: usually one question each.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- amounts ----

struct Amount {
  std::int64_t wanted = 0;
  std::string_view error{};  // empty: there is none
};

template <std::int64_t amount>
Amount read_one(Words) {
  return {amount};
}

Amount read_amount(Words words) {
  const auto amount = to_integer(words[2]);
  if (!amount) return {.error = kNotAnInteger};
  return {*amount};
}

Amount read_decrement(Words words) {
  const Amount amount = read_amount(words);
  if (amount.wanted == std::numeric_limits<std::int64_t>::min())
    return {.error = "ERR decrement would overflow"};
  return {-amount.wanted, amount.error};
}

template <Amount (*read)(Words)>
void add_amount(RespConnection& connection, Words words) {
  const Amount amount = read(words);
  if (!amount.error.empty()) return connection.error(amount.error);
  add(connection, words[1], amount.wanted);
}

template <Amount (*read)(Words)>
ReadWords<std::int64_t> read_within(Words words) {
  const Amount amount = read(words);
  return {amount.wanted, std::string(amount.error)};
}

void get(RespConnection& connection, Words words) {
  connection.read_default(words.subspan(1),
                          [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                            write_value(from, only_value(answer), to);
                            return true;
                          });
}

void type(RespConnection& connection, Words words) {
  connection.read_default(words.subspan(1), [](RespConnection& from, const RespAnswer& answer,
                                               RespWriter& to) {
    const Value& value = only_value(answer);
    const bool known = value.code == Code::ok || value.exists;
    if (known) count_read(from, value);
    known ? to.simple(value.exists ? type_of(value.kind) : "none") : write_failure(from, value, to);
    return true;
  });
}

void strlen(RespConnection& connection, Words words) {
  connection.read_default(
      words.subspan(1), [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
        const Value& value = only_value(answer);
        const std::string text = value.exists ? std::to_string(value.value) : "";
        if (value.code == Code::ok) count_read(from, value);
        value.code == Code::ok ? to.integer(static_cast<std::int64_t>(text.size()))
                               : write_failure(from, value, to);
        return true;
      });
}

void mget(RespConnection& connection, Words words) {
  read_many(connection, words.subspan(1), ReadLevel::by_default);
}

void exists(RespConnection& connection, Words words) {
  const auto all = std::make_shared<ReadAll>(connection, words.subspan(1), ReadLevel::by_default);
  connection.run([&connection, all](const RespAnswer& answer, RespWriter& to) {
    if (!all->take(answer)) return false;
    std::int64_t existing = 0;
    if (const Value* const failed = all->failed()) {
      write_failure(connection, *failed, to);
      return true;
    }
    for (const Value& value : all->values()) {
      existing += value.exists ? 1 : 0;
      count_read(connection, value);
    }
    to.integer(existing);
    return true;
  });
  all->ask();
}

// ---- within a transaction ----

void add_within(std::int64_t amount, Decision& on, RespWriter& to) {
  const Code code = on.add(amount);
  if (code != Code::ok) return refuse(on, code, to);
  to.integer(on.held().total.value_or(0));
}

void get_within(bool, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (writable(held, on, to)) write_held(held, to);
}

void type_within(bool, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  to.simple(held.exists ? type_of(held.kind) : "none");
}

void strlen_within(bool, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (!writable(held, on, to)) return;
  const std::string text = held.exists ? std::to_string(*held.total) : "";
  to.integer(static_cast<std::int64_t>(text.size()));
}

bool is_sum(const Decision& one) { return one.held().kind == Kind::sum; }

// As in Redis, a counter of another kind has no value.
void mget_within(Words words, Decisions& on, RespWriter& to) {
  for (const std::string_view key : words.subspan(1)) {
    const Decision& one = *on.find(key);
    if (is_sum(one) && !writable(one.held(), one, to)) return;
  }
  to.array(words.size() - 1);
  for (const std::string_view key : words.subspan(1)) {
    const Decision& one = *on.find(key);
    is_sum(one) ? write_held(one.held(), to) : to.null();
  }
}

void exists_within(Words words, Decisions& on, RespWriter& to) {
  to.integer(std::ranges::count_if(
      words.subspan(1), [&on](std::string_view key) { return on.find(key)->held().exists; }));
}

constexpr std::array kCounterRules{
    rule<read_within<read_one<1>>, add_within>("incr"),
    rule<read_within<read_one<-1>>, add_within>("decr"),
    rule<read_within<read_amount>, add_within>("incrby"),
    rule<read_within<read_decrement>, add_within>("decrby"),
    rule<read_key_alone, get_within>("get"),
    rule<read_key_alone, type_within>("type"),
    rule<read_key_alone, strlen_within>("strlen"),
    rule_of_several<mget_within>("mget"),
    rule_of_several<exists_within>("exists"),
    rule_of_several<exists_within>("touch"),
};

constexpr std::array kCounterCommands{
    RespCommand{"incr", 2, add_amount<read_one<1>>, kMayCount, "write denyoom fast",
                one_key("RW access update"), "@write @string @fast", "string", "1.0.0",
                "Adds 1 to a counter; tells its total as this node sees it.", "key"},
    RespCommand{"decr", 2, add_amount<read_one<-1>>, kMayCount, "write denyoom fast",
                one_key("RW access update"), "@write @string @fast", "string", "1.0.0",
                "Subtracts 1 from a counter; tells its total as this node sees it.", "key"},
    RespCommand{"incrby", 3, add_amount<read_amount>, kMayCount, "write denyoom fast",
                one_key("RW access update"), "@write @string @fast", "string", "1.0.0",
                "Adds to a counter; tells its total as this node sees it.",
                "key increment:integer"},
    RespCommand{"decrby", 3, add_amount<read_decrement>, kMayCount, "write denyoom fast",
                one_key("RW access update"), "@write @string @fast", "string", "1.0.0",
                "Subtracts from a counter; tells its total as this node sees it.",
                "key decrement:integer"},
    RespCommand{"get", 2, get, kMayRead, "readonly fast", one_key("RO access"),
                "@read @string @fast", "string", "1.0.0",
                "Tells a counter's total from this node's memory.", "key"},
    RespCommand{"mget", -2, mget, kMayRead, "readonly fast", all_keys("RO access"),
                "@read @string @fast", "string", "1.0.0",
                "Tells the totals of several counters from this node's memory.", "key..."},
    RespCommand{"strlen", 2, strlen, kMayRead, "readonly fast", one_key("RO"),
                "@read @string @fast", "string", "2.2.0",
                "Tells how many characters a counter's total has.", "key"},
    RespCommand{"type", 2, type, kMayRead, "readonly fast", one_key("RO"), "@keyspace @read @fast",
                "generic", "1.0.0", "Tells whether a counter exists: string, or none.", "key"},
    RespCommand{"exists", -2, exists, kMayRead, "readonly fast", all_keys("RO"),
                "@keyspace @read @fast", "generic", "1.0.0",
                "Tells how many of the counters exist.", "key..."},
    RespCommand{"touch", -2, exists, kMayRead, "readonly fast", all_keys("RO"),
                "@keyspace @read @fast", "generic", "3.2.1",
                "Tells how many of the counters exist.", "key..."},
};

}  // namespace

std::span<const RespRule> counter_rules() { return kCounterRules; }
std::span<const RespCommand> counter_commands() { return kCounterCommands; }

}  // namespace quipu
