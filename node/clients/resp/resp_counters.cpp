// Commands that add to a counter or read some: usually one question each.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

void incr(RespConnection& connection, Words words) { add(connection, words[1], 1); }

void decr(RespConnection& connection, Words words) { add(connection, words[1], -1); }

void incrby(RespConnection& connection, Words words) {
  const auto amount = to_integer(words[2]);
  if (!amount) return connection.error(kNotAnInteger);
  add(connection, words[1], *amount);
}

void decrby(RespConnection& connection, Words words) {
  const auto amount = to_integer(words[2]);
  if (!amount) return connection.error(kNotAnInteger);
  if (*amount == std::numeric_limits<std::int64_t>::min())
    return connection.error("ERR decrement would overflow");
  add(connection, words[1], -*amount);
}

void get(RespConnection& connection, Words words) {
  connection.read_default(words.subspan(1),
                          [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                            write_value(from, only_value(answer), to);
                            return true;
                          });
}

void type(RespConnection& connection, Words words) {
  connection.read_default(
      words.subspan(1), [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
        const Value& value = only_value(answer);
        const bool known = value.code == Code::ok || value.exists;
        if (known) count_read(from, value);
        known ? to.simple(value.exists ? "string" : "none") : write_failure(from, value, to);
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

constexpr std::array kCounterCommands{
    RespCommand{"incr", 2, incr, "write denyoom fast", one_key("RW access update"),
                "@write @string @fast", "string", "1.0.0",
                "Adds 1 to a counter; tells its total as this node sees it.", "key"},
    RespCommand{"decr", 2, decr, "write denyoom fast", one_key("RW access update"),
                "@write @string @fast", "string", "1.0.0",
                "Subtracts 1 from a counter; tells its total as this node sees it.", "key"},
    RespCommand{"incrby", 3, incrby, "write denyoom fast", one_key("RW access update"),
                "@write @string @fast", "string", "1.0.0",
                "Adds to a counter; tells its total as this node sees it.",
                "key increment:integer"},
    RespCommand{"decrby", 3, decrby, "write denyoom fast", one_key("RW access update"),
                "@write @string @fast", "string", "1.0.0",
                "Subtracts from a counter; tells its total as this node sees it.",
                "key decrement:integer"},
    RespCommand{"get", 2, get, "readonly fast", one_key("RO access"), "@read @string @fast",
                "string", "1.0.0", "Tells a counter's total from this node's memory.", "key"},
    RespCommand{"mget", -2, mget, "readonly fast", all_keys("RO access"), "@read @string @fast",
                "string", "1.0.0", "Tells the totals of several counters from this node's memory.",
                "key..."},
    RespCommand{"strlen", 2, strlen, "readonly fast", one_key("RO"), "@read @string @fast",
                "string", "2.2.0", "Tells how many characters a counter's total has.", "key"},
    RespCommand{"type", 2, type, "readonly fast", one_key("RO"), "@keyspace @read @fast", "generic",
                "1.0.0", "Tells whether a counter exists: string, or none.", "key"},
    RespCommand{"exists", -2, exists, "readonly fast", all_keys("RO"), "@keyspace @read @fast",
                "generic", "1.0.0", "Tells how many of the counters exist.", "key..."},
    RespCommand{"touch", -2, exists, "readonly fast", all_keys("RO"), "@keyspace @read @fast",
                "generic", "3.2.1", "Tells how many of the counters exist.", "key..."},
};

}  // namespace

std::span<const RespCommand> counter_commands() { return kCounterCommands; }

}  // namespace quipu
