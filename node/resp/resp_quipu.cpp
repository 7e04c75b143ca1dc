// QUIPU.*: what Redis has no words for.
#include <array>

#include "node/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

std::optional<ReadLevel> read_level(std::string_view word) {
  if (same_word(word, "local")) return ReadLevel::local;
  if (same_word(word, "fresh")) return ReadLevel::fresh;
  if (same_word(word, "strong")) return ReadLevel::strong;
  return std::nullopt;
}

// Of "… [ACK level]", from words[at] on; nothing: that is something else.
std::optional<Ack> ack_level(const RespConnection& connection, Words words, std::size_t at) {
  if (words.size() == at) return connection.server().settings.ack;
  if (words.size() != at + 2 || !same_word(words[at], "ack")) return std::nullopt;
  if (same_word(words[at + 1], "memory")) return Ack::memory;
  if (same_word(words[at + 1], "disk")) return Ack::disk;
  if (same_word(words[at + 1], "quorum")) return Ack::quorum;
  return std::nullopt;
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
  const auto level = words.size() == 2 ? ReadLevel::local : read_level(words[2]);
  if (!level || words.size() > 3) {
    return connection.error("ERR syntax error: QUIPU.GET key [LOCAL|FRESH|STRONG]");
  }
  connection.read({words[1]}, *level, write_details);
}

void quipu_add(RespConnection& connection, Words words) {
  const auto amount = to_integer(words[2]);
  if (!amount) return connection.error(kNotAnInteger);
  const auto ack = ack_level(connection, words, 3);
  if (!ack)
    return connection.error("ERR syntax error: QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM]");
  add(connection, words[1], *amount, *ack);
}

void quipu_reset(RespConnection& connection, Words words) {
  const auto ack = ack_level(connection, words, 2);
  if (!ack) return connection.error("ERR syntax error: QUIPU.RESET key [ACK MEMORY|DISK|QUORUM]");
  Op op = reset_of(connection, words[1]);
  op.ack = *ack;
  connection.change(op, [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
    const Done& done = *answer.done;
    done.code == Code::ok ? to.simple("OK") : write_failure(from, done, to);
    return true;
  });
}

constexpr std::array kCommands{
    RespCommand{"quipu.get", -2, quipu_get, "readonly fast", kOneKey, "@read @fast", "string",
                "7.0.0", "Tells a counter's total, its age in ms, and whether it is complete."},
    RespCommand{"quipu.add", -3, quipu_add, "write denyoom fast", kOneKey, "@write @fast", "string",
                "7.0.0", "Adds to a counter, acknowledged as asked for."},
    RespCommand{"quipu.reset", -2, quipu_reset, "write fast", kOneKey, "@write @fast", "string",
                "7.0.0", "Resets a counter, acknowledged as asked for."},
};

}  // namespace

std::span<const RespCommand> quipu_commands() { return kCommands; }

}  // namespace quipu
