// QUIPU.*: what Redis has no words for.
#include <array>

#include "node/resp/resp_questions.h"
#include "protocol/affinity.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

std::optional<ReadLevel> read_level(std::string_view word) {
  if (same_word(word, "local")) return ReadLevel::local;
  if (same_word(word, "fresh")) return ReadLevel::fresh;
  if (same_word(word, "strong")) return ReadLevel::strong;
  return std::nullopt;
}

struct ChangeOptions {
  Ack ack;
  Affinity affinity{};
};

std::optional<Ack> ack_level(std::string_view word) {
  if (same_word(word, "memory")) return Ack::memory;
  if (same_word(word, "disk")) return Ack::disk;
  if (same_word(word, "quorum")) return Ack::quorum;
  return std::nullopt;
}

// Of "… [ACK level] [AFFINITY name]", in any order, from words[at] on; nothing: that is
// something else.
std::optional<ChangeOptions> change_options(const RespConnection& connection, Words words,
                                            std::size_t at) {
  ChangeOptions options{connection.server().settings.ack};
  bool has_ack = false;
  for (; at + 1 < words.size(); at += 2) {
    const std::string_view value = words[at + 1];
    const auto ack = ack_level(value);
    if (same_word(words[at], "ack") && ack && !has_ack) {
      options.ack = *ack;
      has_ack = true;
    } else if (same_word(words[at], "affinity") && !value.empty() &&
               options.affinity == Affinity{}) {
      options.affinity = affinity_of(value);
    } else {
      return std::nullopt;
    }
  }
  return at == words.size() ? std::optional(options) : std::nullopt;
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
  const auto options = change_options(connection, words, 3);
  if (!options) {
    return connection.error(
        "ERR syntax error: QUIPU.ADD key amount [ACK MEMORY|DISK|QUORUM] [AFFINITY name]");
  }
  add(connection,
      {.key = words[1], .amount = *amount, .ack = options->ack, .affinity = options->affinity});
}

void quipu_reset(RespConnection& connection, Words words) {
  const auto options = change_options(connection, words, 2);
  if (!options || options->affinity != Affinity{})
    return connection.error("ERR syntax error: QUIPU.RESET key [ACK MEMORY|DISK|QUORUM]");
  Op op = reset_of(connection, words[1]);
  op.ack = options->ack;
  connection.change(op, [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
    const Done& done = *answer.done;
    done.code == Code::ok ? to.simple("OK") : write_failure(from, done, to);
    return true;
  });
}

constexpr std::array kQuipuCommands{
    RespCommand{"quipu.get", -2, quipu_get, "readonly fast", one_key("RO access"), "@read @fast",
                "string", "7.0.0",
                "Tells a counter's total, its age in ms, and whether it is complete.",
                "key [LOCAL|FRESH|STRONG]"},
    RespCommand{"quipu.add", -3, quipu_add, "write denyoom fast", one_key("RW access update"),
                "@write @fast", "string", "7.0.0", "Adds to a counter, acknowledged as asked for.",
                "key amount:integer [ACK MEMORY|DISK|QUORUM] [AFFINITY name]"},
    RespCommand{"quipu.reset", -2, quipu_reset, "write fast", one_key("RM delete"), "@write @fast",
                "string", "7.0.0", "Resets a counter, acknowledged as asked for.",
                "key [ACK MEMORY|DISK|QUORUM]"},
};

}  // namespace

std::span<const RespCommand> quipu_commands() { return kQuipuCommands; }

}  // namespace quipu
