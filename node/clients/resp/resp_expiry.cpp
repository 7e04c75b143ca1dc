// Commands about when counters end.
#include <array>
#include <limits>

#include "node/clients/resp/resp_decisions.h"
#include "node/clients/resp/resp_questions.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT ----

struct Expiry {
  std::string_view command;
  ExpiryWord when;
  bool nx = false, xx = false, gt = false, lt = false;
};

template <std::size_t kIndex>
ReadWords<Expiry> read_expire(Words words) {
  constexpr std::array<std::pair<std::string_view, ExpiryWord>, 4> kUnits{{
      {"expire", {}},
      {"pexpire", {.milliseconds = true}},
      {"expireat", {.absolute = true}},
      {"pexpireat", {.milliseconds = true, .absolute = true}},
  }};
  Expiry wanted{kUnits[kIndex].first, kUnits[kIndex].second};
  for (const std::string_view word : words.subspan(3)) {
    bool* const option = same_word(word, "nx")   ? &wanted.nx
                         : same_word(word, "xx") ? &wanted.xx
                         : same_word(word, "gt") ? &wanted.gt
                         : same_word(word, "lt") ? &wanted.lt
                                                 : nullptr;
    if (option == nullptr)
      return {.error = "ERR Unsupported option " + std::string(word.substr(0, 128))};
    *option = true;
  }
  if (wanted.nx && (wanted.xx || wanted.gt || wanted.lt))
    return {.error = "ERR NX and XX, GT or LT options at the same time are not compatible"};
  if (wanted.gt && wanted.lt)
    return {.error = "ERR GT and LT options at the same time are not compatible"};
  const auto count = to_integer(words[2]);
  if (!count) return {.error = std::string(kNotAnInteger)};
  wanted.when.count = *count;
  // Times from now on are checked again by the node that decides, which knows the time.
  if (!moment_of(wanted.when, Wall{})) return {.error = invalid_expiry(wanted.command)};
  return {wanted};
}

void expire(const Expiry& wanted, Decision& on, RespWriter& to) {
  const std::optional<Wall> at = end_by(wanted.when, wanted.command, on, to);
  if (!at) return;
  const Decision::Held held = on.held();
  const bool ends = held.ends != Wall{};
  const bool applies = held.exists && !(wanted.nx && ends) && !(wanted.xx && !ends) &&
                       !(wanted.gt && (!ends || *at <= held.ends)) &&
                       !(wanted.lt && ends && *at >= held.ends);
  if (!applies) return to.integer(0);
  const Code code = on.expire(*at);
  code == Code::ok ? to.integer(1) : refuse(on, code, to);
}

// ---- PERSIST ----

void persist(bool, Decision& on, RespWriter& to) {
  if (on.held().ends == Wall{}) return to.integer(0);
  const Code code = on.expire(Wall{});
  code == Code::ok ? to.integer(1) : refuse(on, code, to);
}

// ---- TTL, PTTL, EXPIRETIME, PEXPIRETIME ----

// What is left until the end depends on this node's clock. The moment of the end does not.
enum class NeedsClock : std::uint8_t { no, yes };

// As Redis: -2 where there is no counter, -1 where it has no end.
template <auto number_of, NeedsClock needs_clock>
void tell_end(RespConnection& connection, Words words) {
  connection.read_default(
      words.subspan(1), [](RespConnection& from, const RespAnswer& answer, RespWriter& to) {
        const Value& value = only_value(answer);
        if (value.code != Code::ok && !value.exists) {
          write_failure(from, value, to);
          return true;
        }
        const WallClock& clock = from.server().context.port.core()->clock();
        if (needs_clock == NeedsClock::yes && value.expires_in_ms != 0 && !clock.trusted()) {
          from.fail(to, read_error(Code::unavailable, clock.doubt()));
          return true;
        }
        count_read(from, value);
        to.integer(!value.exists ? -2 : value.expires_in_ms == 0 ? -1 : number_of(value));
        return true;
      });
}

constexpr std::int64_t seconds(std::int64_t ms) { return (ms + 500) / 1000; }
std::int64_t pttl_of(const Value& value) { return static_cast<std::int64_t>(value.expires_in_ms); }
std::int64_t ttl_of(const Value& value) { return seconds(pttl_of(value)); }
std::int64_t pexpiretime_of(const Value& value) { return value.ends.time_since_epoch().count(); }
std::int64_t expiretime_of(const Value& value) { return seconds(pexpiretime_of(value)); }

// ---- TIME ----

void write_time(Wall now, RespWriter& to) {
  const std::int64_t ms = now.time_since_epoch().count();
  to.array(2);
  to.bulk(ms / 1000);
  to.bulk(ms % 1000 * 1000);
}

void time(RespConnection& connection, Words) {
  RespWriter to = connection.writer();
  write_time(connection.server().context.port.core()->executor().wall(NodeClock::now()), to);
}

void time_within(Words, Decisions& on, RespWriter& to) { write_time(on.shown_time(), to); }

// ---- TTL and so on within a transaction ----

template <auto number_of, NeedsClock needs_clock>
void tell_end_within(bool, Decision& on, RespWriter& to) {
  const Decision::Held held = on.held();
  if (!held.exists) return to.integer(-2);
  if (held.ends == Wall{}) return to.integer(-1);
  Value value{.ends = held.ends};
  if (needs_clock == NeedsClock::yes) {
    const std::optional<Wall> today = on.today();
    if (!today) return refuse(on, Code::unavailable, to);
    value.expires_in_ms = static_cast<std::uint64_t>((held.ends - *today).count());
  }
  to.integer(number_of(value));
}

constexpr std::array kExpiryRules{
    rule<read_expire<0>, expire>("expire"),
    rule<read_expire<1>, expire>("pexpire"),
    rule<read_expire<2>, expire>("expireat"),
    rule<read_expire<3>, expire>("pexpireat"),
    rule<read_key_alone, persist>("persist"),
    rule_of_several<time_within>("time"),
    rule<read_key_alone, tell_end_within<ttl_of, NeedsClock::yes>>("ttl"),
    rule<read_key_alone, tell_end_within<pttl_of, NeedsClock::yes>>("pttl"),
    rule<read_key_alone, tell_end_within<expiretime_of, NeedsClock::no>>("expiretime"),
    rule<read_key_alone, tell_end_within<pexpiretime_of, NeedsClock::no>>("pexpiretime"),
};

// ---- the commands ----

constexpr std::string_view kExpiryWrite = "@keyspace @write @fast";
constexpr std::string_view kExpiryRead = "@keyspace @read @fast";

constexpr std::array kExpiryCommands{
    RespCommand{"expire", -3, decide, kMayReset, "write fast", one_key("RW update"), kExpiryWrite,
                "generic", "1.0.0", "Says in how many seconds a counter ends; 0 or less: now.",
                "key seconds:integer [NX|XX|GT|LT]"},
    RespCommand{"pexpire", -3, decide, kMayReset, "write fast", one_key("RW update"), kExpiryWrite,
                "generic", "2.6.0", "Says in how many milliseconds a counter ends; 0 or less: now.",
                "key milliseconds:integer [NX|XX|GT|LT]"},
    RespCommand{"expireat", -3, decide, kMayReset, "write fast", one_key("RW update"), kExpiryWrite,
                "generic", "1.2.0", "Says at which second since 1970 a counter ends.",
                "key unix-time-seconds:unix-time [NX|XX|GT|LT]"},
    RespCommand{"pexpireat", -3, decide, kMayReset, "write fast", one_key("RW update"),
                kExpiryWrite, "generic", "2.6.0",
                "Says at which millisecond since 1970 a counter ends.",
                "key unix-time-milliseconds:unix-time [NX|XX|GT|LT]"},
    RespCommand{"persist", 2, decide, kMayReset, "write fast", one_key("RW update"), kExpiryWrite,
                "generic", "2.2.0", "Lets a counter have no end any more.", "key"},
    RespCommand{"time",
                1,
                time,
                kAuthenticated,
                "loading stale fast",
                {},
                "@fast",
                "server",
                "2.6.0",
                "Tells what this node's clock shows, to the millisecond.",
                ""},
    RespCommand{"ttl", 2, tell_end<ttl_of, NeedsClock::yes>, kMayRead, "readonly fast",
                one_key("RO access"), kExpiryRead, "generic", "1.0.0",
                "Tells in how many seconds a counter ends.", "key"},
    RespCommand{"pttl", 2, tell_end<pttl_of, NeedsClock::yes>, kMayRead, "readonly fast",
                one_key("RO access"), kExpiryRead, "generic", "2.6.0",
                "Tells in how many milliseconds a counter ends.", "key"},
    RespCommand{"expiretime", 2, tell_end<expiretime_of, NeedsClock::no>, kMayRead, "readonly fast",
                one_key("RO access"), kExpiryRead, "generic", "7.0.0",
                "Tells at which second since 1970 a counter ends.", "key"},
    RespCommand{"pexpiretime", 2, tell_end<pexpiretime_of, NeedsClock::no>, kMayRead,
                "readonly fast", one_key("RO access"), kExpiryRead, "generic", "7.0.0",
                "Tells at which millisecond since 1970 a counter ends.", "key"},
};

}  // namespace

std::span<const RespRule> expiry_rules() { return kExpiryRules; }
std::span<const RespCommand> expiry_commands() { return kExpiryCommands; }

}  // namespace quipu
