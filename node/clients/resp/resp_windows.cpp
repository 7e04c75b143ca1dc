// QUIPU.RANGE and QUIPU.RATE: what a counter counted in time (protocol/window.h).
#include <array>
#include <charconv>
#include <string>

#include "node/base/duration_text.h"
#include "node/base/level_names.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

constexpr std::string_view kRangeSyntax =
    "QUIPU.RANGE key LAST duration | FROM ms TO ms [STEP duration] [UNION] [LOCAL|FRESH|STRONG], "
    "such as LAST 1h STEP 1m; UNION counts different elements";
constexpr std::string_view kRateSyntax = "QUIPU.RATE key duration [LOCAL|FRESH|STRONG]";

// Whole seconds, as windows have.
bool read_seconds(std::string_view word, std::chrono::seconds& to) {
  const auto duration = to_duration(word, kMaxTtl);
  if (!duration || duration->count() % 1000 != 0 || to != std::chrono::seconds(0)) return false;
  to = std::chrono::duration_cast<std::chrono::seconds>(*duration);
  return true;
}

bool read_time(std::string_view word, std::optional<Wall>& to) {
  const auto ms = to_integer(word);
  if (!ms || *ms < 0 || *ms > static_cast<std::int64_t>(kLatestDateMs) || to) return false;
  to = Wall{Wall::duration(*ms)};
  return true;
}

bool read_level(std::string_view word, RangeRequest& request) {
  const auto level = level_named<ReadLevel>(word, same_word);
  if (!level || request.level != ReadLevel::by_default) return false;
  request.level = *level;
  return true;
}

// False: it is no range.
bool read_range(Words words, RangeRequest& request) {
  std::optional<Wall> from, to;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (read_level(words[i], request)) continue;
    if (same_word(words[i], "union") && request.kind == Kind::sum) {
      request.kind = Kind::distinct;
      continue;
    }
    const std::string_view name = words[i];
    if (++i == words.size()) return false;
    const bool known = (same_word(name, "last") && read_seconds(words[i], request.last)) ||
                       (same_word(name, "step") && read_seconds(words[i], request.step)) ||
                       (same_word(name, "from") && read_time(words[i], from)) ||
                       (same_word(name, "to") && read_time(words[i], to));
    if (!known) return false;
  }
  const bool last = request.last != std::chrono::seconds(0);
  if (from.has_value() != to.has_value() || last == from.has_value()) return false;
  request.from = from.value_or(Wall{});
  request.to = to.value_or(Wall{});
  return true;
}

// Calls write(reply, to) with the answer, unless that is an error.
template <class WriteReply>
void ask(RespConnection& connection, const RangeRequest& request, WriteReply write) {
  connection.run([&connection, write](const RespAnswer& answer, RespWriter& to) {
    const RangeReply& reply = *answer.range;
    if (reply.code == Code::ok) {
      write(reply, to);
    } else {
      connection.fail(to, read_error(reply.code, reply.detail));
    }
    return true;
  });
  connection.again(request);
}

void write_settled(const RangeReply& reply, RespWriter& to) {
  to.bulk("complete");
  to.boolean(reply.complete);
  to.bulk("settled_until_ms");
  reply.settled_until == Wall{} ? to.null()
                                : to.integer(reply.settled_until.time_since_epoch().count());
}

void quipu_range(RespConnection& connection, Words words) {
  RangeRequest request{.key = words[1]};
  if (!read_range(words, request))
    return connection.error("ERR syntax error: " + std::string(kRangeSyntax));
  ask(connection, request, [](const RangeReply& reply, RespWriter& to) {
    to.map(5);
    to.bulk("begin_ms");
    to.integer(reply.begin.time_since_epoch().count());
    to.bulk("step_ms");
    to.integer(std::chrono::milliseconds(reply.step).count());
    write_settled(reply, to);
    to.bulk("counts");
    to.array(reply.counts.size());
    for (const std::int64_t count : reply.counts) to.integer(count);
  });
}

// As Redis writes a float in a bulk string: the shortest text that reads as the same number.
std::string shortest(double number) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), number);
  return {text.begin(), end};
}

void quipu_rate(RespConnection& connection, Words words) {
  RangeRequest request{.key = words[1], .only_past = true};
  const bool sound = words.size() <= 4 && read_seconds(words[2], request.last) &&
                     (words.size() == 3 || read_level(words[3], request));
  if (!sound) return connection.error("ERR syntax error: " + std::string(kRateSyntax));
  ask(connection, request, [](const RangeReply& reply, RespWriter& to) {
    double sum = 0;
    for (const std::int64_t count : reply.counts) sum += static_cast<double>(count);
    const auto seconds = reply.step * static_cast<std::int64_t>(reply.counts.size());
    to.map(5);
    to.bulk("per_second");
    to.bulk(shortest(seconds.count() > 0 ? sum / static_cast<double>(seconds.count()) : 0));
    to.bulk("begin_ms");
    to.integer(reply.begin.time_since_epoch().count());
    to.bulk("span_ms");
    to.integer(std::chrono::milliseconds(seconds).count());
    write_settled(reply, to);
  });
}

constexpr std::array kWindowCommands{
    RespCommand{"quipu.range", -2, quipu_range, kMayRead, "readonly", one_key("RO access"),
                "@read @slow", "string", "7.0.0", "Tells what a counter counted in time, in steps.",
                "key [LAST span] [FROM begin:integer] [TO end:integer] [STEP step] [UNION] "
                "[LOCAL|FRESH|STRONG]"},
    RespCommand{"quipu.rate", -3, quipu_rate, kMayRead, "readonly", one_key("RO access"),
                "@read @slow", "string", "7.0.0",
                "Tells how much a counter counted per second, lately.",
                "key span [LOCAL|FRESH|STRONG]"},
};

}  // namespace

std::span<const RespCommand> window_commands() { return kWindowCommands; }

}  // namespace quipu
