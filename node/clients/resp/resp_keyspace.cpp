// Commands about existing counters: questions to all owners, through any node.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include "node/clients/resp/resp_questions.h"
#include "node/clients/resp/resp_walk.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// KEYS must reply with all names at once.
constexpr std::size_t kMaxKeys = 100'000;
// A client may leave four times as much unread.
constexpr std::size_t kMaxKeyBytes = std::size_t{2} << 20;

// ---- SCAN ----

// If a step of the core lists fewer names than the client asked for, another step follows, but
// a client must not occupy the node.
constexpr std::chrono::milliseconds kScanPatience{5};
// No type has a longer name.
constexpr std::size_t kMaxTypeName = 32;

// Parses cursors as Redis does: any 64-bit number, with leading zeros.
std::optional<std::uint64_t> to_cursor(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  std::uint64_t cursor = 0;
  const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), cursor);
  if (error != std::errc() || stopped != word.data() + word.size()) return std::nullopt;
  return cursor;
}

struct Scan {
  std::uint32_t cursor = 0;  // up to kListEnd
  std::string pattern = "*";
  std::uint32_t count = 10;
  std::string type{};  // of which the counters are; empty: of any
  std::string error{};
};

Scan read_scan(Words words) {
  Scan scan;
  const auto cursor = to_cursor(words[1]);
  if (!cursor) return {.error = "ERR invalid cursor"};
  scan.cursor = static_cast<std::uint32_t>(std::min<std::uint64_t>(*cursor, kListEnd));
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return {.error = std::string(kSyntaxError)};
    const std::string_view value = words[i + 1];
    if (same_word(words[i], "match")) {
      if (value.size() > kMaxPattern) return {.error = std::string(kPatternTooLong)};
      scan.pattern = value;
    } else if (same_word(words[i], "count")) {
      const auto count = to_integer(value);
      if (!count) return {.error = std::string(kNotAnInteger)};
      if (*count < 1) return {.error = std::string(kSyntaxError)};
      scan.count = static_cast<std::uint32_t>(std::min<std::int64_t>(*count, kMaxListKeys));
    } else if (same_word(words[i], "type")) {
      scan.type = lowered(value.substr(0, kMaxTypeName));
    } else {
      return {.error = std::string(kSyntaxError)};
    }
  }
  return scan;
}

// Redis's cursor is 0 at the end, too.
void write_scanned(const Scan& scan, const std::vector<std::string>& found, RespWriter& to) {
  to.array(2);
  to.bulk(std::int64_t{scan.cursor == kListEnd ? 0 : scan.cursor});
  to.array(found.size());
  for (const std::string& key : found) to.bulk(key);
}

// As commands of the connection's database name the counter.
std::string_view named(const RespConnection& connection, std::string_view key) {
  key.remove_prefix(std::min(connection.prefix().size(), key.size()));
  return key;
}

void ask(RespConnection& connection, const Scan& scan) {
  const std::string prefix = connection.prefix() + std::string(literal_prefix(scan.pattern));
  connection.again(List{.prefix = prefix, .cursor = scan.cursor, .limit = scan.count});
}

void scan(RespConnection& connection, Words words) {
  const Scan first = read_scan(words);
  if (!first.error.empty()) return connection.error(first.error);
  if (first.cursor == kListEnd) {  // not from one of our replies
    RespWriter to = connection.writer();
    return write_scanned(first, {}, to);
  }
  const Instant deadline = NodeClock::now() + kScanPatience;
  connection.run([&connection, deadline, scan = first, found = std::vector<std::string>()](
                     const RespAnswer& answer, RespWriter& to) mutable {
    const Keys& keys = *answer.keys;
    if (keys.code != Code::ok) {
      connection.fail(to, read_error(keys.code, keys.detail));
      return true;
    }
    scan.cursor = keys.next;
    scan.count -= static_cast<std::uint32_t>(std::min<std::size_t>(scan.count, keys.keys.size()));
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
      const std::string_view name = named(connection, keys.keys[i]);
      const Kind kind = keys.kinds.empty() ? Kind::sum : keys.kinds[i];
      const bool wanted = scan.type.empty() || scan.type == type_of(kind);
      const bool seen = connection.permit().covers(keys.keys[i]);
      if (wanted && seen && matches(scan.pattern, name)) found.emplace_back(name);
    }
    if (scan.count > 0 && scan.cursor != kListEnd && NodeClock::now() < deadline) {
      ask(connection, scan);
      return false;
    }
    write_scanned(scan, found, to);
    return true;
  });
  ask(connection, first);
}

// ---- all counters ----

void keys(RespConnection& connection, Words words) {
  if (words[1].size() > kMaxPattern) return connection.error(kPatternTooLong);
  const auto walk = std::make_shared<Walk>(
      connection, connection.prefix() + std::string(literal_prefix(words[1])));
  connection.run([&connection, walk, pattern = std::string(words[1]),
                  found = std::vector<std::string>(),
                  bytes = std::size_t{0}](const RespAnswer& answer, RespWriter& to) mutable {
    const Keys& step = *answer.keys;
    if (step.code != Code::ok) {
      connection.fail(to, read_error(step.code, step.detail));
      return true;
    }
    for (const std::string& key : walk->take(step)) {
      const std::string_view name = named(connection, key);
      if (!connection.permit().covers(key) || !matches(pattern, name)) continue;
      bytes += name.size();
      found.emplace_back(name);
    }
    if (found.size() > kMaxKeys || bytes > kMaxKeyBytes) {
      connection.fail(to, "ERR too many counters match (100000 may, of 2 MiB in all): use SCAN");
      return true;
    }
    if (!walk->ended()) {
      walk->ask();
      return false;
    }
    to.array(found.size());
    for (const std::string& key : found) to.bulk(key);
    return true;
  });
  walk->ask();
}

// From a random place on. If nothing is behind it, from the beginning.
void randomkey(RespConnection& connection, Words) {
  Random& random = connection.server().random;
  const auto from = static_cast<std::uint32_t>(random.below(kListEnd));
  const auto ask = [&connection](std::uint32_t cursor) {
    connection.again(List{.prefix = connection.prefix(), .cursor = cursor, .limit = 1});
  };
  connection.run(
      [&connection, ask, wrapped = false](const RespAnswer& answer, RespWriter& to) mutable {
        const Keys& step = *answer.keys;
        if (step.code != Code::ok) {
          connection.fail(to, read_error(step.code, step.detail));
        } else if (!step.keys.empty()) {
          to.bulk(named(connection, step.keys[connection.server().random.below(step.keys.size())]));
        } else if (step.next != kListEnd) {
          ask(step.next);
          return false;
        } else if (!std::exchange(wrapped, true)) {
          ask(0);
          return false;
        } else {
          to.null();
        }
        return true;
      });
  ask(from);
}

// A database has no key count, so the names are walked through.
void size_of_database(RespConnection& connection) {
  const auto walk = std::make_shared<Walk>(connection, connection.prefix());
  connection.run([&connection, walk, counters = std::int64_t{0}](const RespAnswer& answer,
                                                                 RespWriter& to) mutable {
    const Keys& step = *answer.keys;
    if (step.code != Code::ok) {
      connection.fail(to, read_error(step.code, step.detail));
      return true;
    }
    counters += static_cast<std::int64_t>(walk->take(step).size());
    if (walk->ended()) {
      to.integer(counters);
      return true;
    }
    walk->ask();
    return false;
  });
  walk->ask();
}

void dbsize(RespConnection& connection, Words) {
  if (!connection.prefix().empty()) return size_of_database(connection);
  connection.run([&connection](const RespAnswer& answer, RespWriter& to) {
    const KeyCount& size = *answer.size;
    size.code == Code::ok ? to.integer(static_cast<std::int64_t>(size.counters))
                          : connection.fail(to, read_error(size.code, size.detail));
    return true;
  });
  connection.again(CountKeys{});
}

// ---- FLUSHALL ----

void flush(RespConnection& connection, Words words, const std::string& prefix) {
  const bool plain =
      words.size() == 1 ||
      (words.size() == 2 && (same_word(words[1], "sync") || same_word(words[1], "async")));
  if (!plain) return connection.error(kSyntaxError);
  if (!connection.server().settings.flushall) {
    return connection.error(
        "ERR FLUSHALL is not enabled: set flushall = true in [client] of the node's settings, and "
        "restart it");
  }
  const auto all = std::make_shared<ResetAll>(connection, prefix);
  connection.run([&connection, all](const RespAnswer& answer, RespWriter& to) {
    if (!all->take(answer)) return false;
    if (all->failure().empty()) {
      to.simple("OK");
    } else {
      connection.fail(to, "PARTIAL some counters may have been reset: " + all->failure());
    }
    return true;
  });
  all->begin();
}

void flushall(RespConnection& connection, Words words) { flush(connection, words, ""); }

void flushdb(RespConnection& connection, Words words) {
  flush(connection, words, connection.prefix());
}

constexpr std::array kKeyspaceCommands{
    RespCommand{"scan",
                -2,
                scan,
                kMayRead,
                "readonly",
                {},
                "@keyspace @read @slow",
                "generic",
                "2.8.0",
                "Lists the cluster's counters, step by step.",
                "cursor:integer [MATCH pattern:pattern] [COUNT count:integer] [TYPE type]"},
    RespCommand{"keys",
                2,
                keys,
                kMayRead,
                "readonly",
                {},
                "@keyspace @read @slow @dangerous",
                "generic",
                "1.0.0",
                "Lists the cluster's counters at once, 100000 at most.",
                "pattern:pattern"},
    RespCommand{"randomkey",
                1,
                randomkey,
                kMayRead | kEveryKey,
                "readonly",
                {},
                "@keyspace @read @slow",
                "generic",
                "1.0.0",
                "Names some counter."},
    RespCommand{"dbsize",
                1,
                dbsize,
                kMayRead | kEveryKey,
                "readonly fast",
                {},
                "@keyspace @read @fast",
                "server",
                "1.0.0",
                "Tells how many counters exist in the database, which is the cluster for 0."},
    RespCommand{"flushall",
                -1,
                flushall,
                kMayAdminister | kEveryKey,
                "write",
                {},
                "@keyspace @write @slow @dangerous",
                "server",
                "1.0.0",
                "Resets every counter of the cluster, if the settings allow.",
                "[ASYNC|SYNC]"},
    RespCommand{"flushdb",
                -1,
                flushdb,
                kMayAdminister | kEveryKey,
                "write",
                {},
                "@keyspace @write @slow @dangerous",
                "server",
                "1.0.0",
                "Resets every counter of the database, if the settings allow.",
                "[ASYNC|SYNC]"},
};

}  // namespace

std::span<const RespCommand> keyspace_commands() { return kKeyspaceCommands; }

}  // namespace quipu
