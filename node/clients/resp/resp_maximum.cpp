// QUIPU.MAX: the greatest number that was offered (storage/kinds/maximum.h).
#include <array>

#include "node/clients/resp/resp_questions.h"
#include "storage/kinds/maximum.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

void read_maximum(RespConnection& connection, std::string_view key) {
  connection.query({.kind = Kind::maximum, .words = maximum::kNumberQuestion, .keys = {key}},
                   [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                     const QueryReply& reply = *answer.query;
                     const auto number = maximum::number(reply.reply);
                     if (reply.code != Code::ok || !number) {
                       write_query_failure(from, reply, to);
                     } else {
                       RespFigures& figures = from.server().figures;
                       ++(reply.exists ? figures.hits : figures.misses);
                       reply.exists ? to.integer(*number) : to.null();
                     }
                     return true;
                   });
}

void quipu_max(RespConnection& connection, Words words) {
  if (words.size() == 2) {
    if (connection.permits(kMayRead, "quipu.max")) read_maximum(connection, words[1]);
    return;
  }
  if (words.size() > 3)
    return connection.error("ERR wrong number of arguments for 'quipu.max' command");
  if (!connection.permits(kMayCount, "quipu.max")) return;
  const auto number = to_integer(words[2]);
  if (!number) return connection.error(kNotAnInteger);
  const std::string_view offer = connection.keep(maximum::words_of(*number));
  connection.change(apply_of(connection, Kind::maximum, words[1], offer),
                    [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
                      const Done& done = *answer.done;
                      done.code == Code::ok ? to.integer(maximum::raised(done.detail) ? 1 : 0)
                                            : write_failure(from, done, to);
                      return true;
                    });
}

constexpr std::array kMaximumCommands{
    RespCommand{"quipu.max", -2, quipu_max, kMayTouch, "write denyoom fast",
                one_key("RW access update"), "@write @fast", "generic", "7.0.0",
                "Raises a counter to a number if that is greater; without one, tells it.",
                "key [number:integer]"},
};

}  // namespace

std::span<const RespCommand> maximum_commands() { return kMaximumCommands; }

}  // namespace quipu
