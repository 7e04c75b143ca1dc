// Commands that describe the server: INFO, CONFIG, FUNCTION.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "node/base/version.h"
#include "node/clients/resp/resp_command.h"
#include "node/clients/resp/resp_walk.h"
#include "protocol/check.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- INFO ----

struct Facts {
  const RespServer& server;
  Figures figures;                                 // for the whole node
  std::map<std::uint32_t, std::uint64_t> sizes{};  // of databases
};

struct Section {
  std::string_view name;
  void (*write)(const Facts&, std::string& to);
};

void line(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(":").append(value).append("\r\n");
}

void line(std::string& to, std::string_view name, std::uint64_t value) {
  line(to, name, std::to_string(value));
}

std::uint64_t seconds_up(const RespServer& server) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(NodeClock::now() - server.started).count());
}

void info_server(const Facts& facts, std::string& to) {
  line(to, "redis_version", kRedisVersion);
  line(to, "quipu_version", kVersion);
  line(to, "redis_mode", "standalone");
  line(to, "arch_bits", 8 * sizeof(void*));
  line(to, "process_id", static_cast<std::uint64_t>(::getpid()));
  line(to, "node_name", facts.figures.status.name);
  line(to, "node_state", facts.figures.status.state);
  line(to, "uptime_in_seconds", seconds_up(facts.server));
  line(to, "uptime_in_days", seconds_up(facts.server) / 86'400);
}

// Fields for features that this server does not have are 0.
void zeros(std::string& to, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) line(to, name, 0);
}

void info_clients(const Facts& facts, std::string& to) {
  line(to, "connected_clients", facts.figures.port.connected);
  line(to, "cluster_connections", 0);
  line(to, "maxclients", facts.server.settings.connections);
  zeros(to, {"blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients",
             "clients_in_timeout_table", "total_watched_keys", "total_blocking_keys",
             "total_blocking_keys_on_nokey"});
}

// Pages, from the second field of /proc/self/statm.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// As "%.2f".
std::string two_digits(double number) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.2f", number);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::uint64_t stat(const Facts& facts, std::string_view name) {
  const auto at = std::ranges::find(facts.figures.status.stats, name, &Stat::name);
  QUIPU_CHECK(at != facts.figures.status.stats.end(), "each node has that figure", name);
  return at->value;
}

std::string human(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"B", "K", "M", "G"};
  std::size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return two_digits(size).append(kUnits[unit]);
}

void info_memory(const Facts& facts, std::string& to) {
  const std::uint64_t resident = resident_bytes();
  // The memory that the limit is for: entries and tables.
  const std::uint64_t counters = stat(facts, "memory_used_bytes");
  line(to, "used_memory", counters);
  line(to, "used_memory_human", human(counters));
  line(to, "used_memory_rss", resident);
  line(to, "used_memory_rss_human", human(resident));
  line(to, "maxmemory", facts.server.settings.memory_limit);
  line(to, "maxmemory_policy", "noeviction");
  line(to, "number_of_cached_scripts", facts.figures.resp.scripts);
}

// Every add at disk is synced before it is acknowledged.
void info_persistence(const Facts& facts, std::string& to) {
  const NodeCore& core = *facts.server.context.port.core();
  line(to, "loading", core.serves_reads() ? 0 : 1);
  line(to, "rdb_bgsave_in_progress", 0);
  line(to, "aof_enabled", 1);
  line(to, "aof_rewrite_in_progress", 0);
  line(to, "aof_last_write_status", core.storage_full() ? "err" : "ok");
}

void info_stats(const Facts& facts, std::string& to) {
  const RespFigures& resp = facts.figures.resp;
  const PortFigures& port = facts.figures.port;
  const auto kilobytes = [](std::uint64_t bytes) {
    return two_digits(static_cast<double>(bytes) / 1024);
  };
  line(to, "total_connections_received", port.received);
  line(to, "total_commands_processed", resp.commands_processed);
  line(to, "instantaneous_ops_per_sec", resp.per_second);
  line(to, "total_net_input_bytes", port.bytes_in);
  line(to, "total_net_output_bytes", port.bytes_out);
  line(to, "instantaneous_input_kbps", kilobytes(port.in_per_second));
  line(to, "instantaneous_output_kbps", kilobytes(port.out_per_second));
  line(to, "rejected_connections", port.rejected);
  zeros(to, {"sync_full", "sync_partial_ok", "sync_partial_err", "evicted_keys"});
  line(to, "expired_keys", stat(facts, "counters_ended"));
  line(to, "keyspace_hits", resp.hits);
  line(to, "keyspace_misses", resp.misses);
  zeros(to, {"pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "latest_fork_usec",
             "total_forks", "unexpected_error_replies"});
  line(to, "total_error_replies", resp.errors);
  line(to, "total_reads_processed", port.reads);
  line(to, "total_writes_processed", port.writes);
  for (const Stat& stat : facts.figures.status.stats) line(to, "quipu_" + stat.name, stat.value);
}

// The commands that were called, or refused.
void info_commandstats(const Facts& facts, std::string& to) {
  const auto& commands = facts.figures.resp.commands;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& [calls, nanoseconds, rejected, failed] = commands[i];
    if (calls + rejected + failed == 0) continue;
    const auto usec = static_cast<double>(nanoseconds) / 1000;
    line(to, "cmdstat_" + command_names()[i],
         "calls=" + std::to_string(calls) + ",usec=" + std::to_string(nanoseconds / 1000) +
             ",usec_per_call=" + two_digits(calls == 0 ? 0 : usec / static_cast<double>(calls)) +
             ",rejected_calls=" + std::to_string(rejected) +
             ",failed_calls=" + std::to_string(failed));
  }
}

void info_errorstats(const Facts& facts, std::string& to) {
  for (const auto& [code, count] : facts.figures.resp.errors_by_code)
    line(to, "errorstat_" + code, "count=" + std::to_string(count));
}

// Every node accepts writes. None is a copy of another.
void info_replication(const Facts&, std::string& to) {
  line(to, "role", "master");
  line(to, "connected_slaves", 0);
  line(to, "master_repl_offset", 0);
}

void info_cpu(const Facts&, std::string& to) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  const auto seconds = [](const timeval& time) {
    std::array<char, 32> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "%lld.%06lld", static_cast<long long>(time.tv_sec),
                      static_cast<long long>(time.tv_usec));
    return std::string(text.data(), static_cast<std::size_t>(length));
  };
  line(to, "used_cpu_sys", seconds(usage.ru_stime));
  line(to, "used_cpu_user", seconds(usage.ru_utime));
}

void info_cluster(const Facts&, std::string& to) { line(to, "cluster_enabled", 0); }

// The states in memory, by kind. A counter has one for each of its shards and windows.
void info_kinds(const Facts& facts, std::string& to) {
  for (const Kind kind : kKinds) {
    const std::string name = name_of(kind);
    line(to, "kind_" + name,
         "states=" + std::to_string(stat(facts, "states_in_memory_" + name)) +
             ",state_memory_bytes=" + std::to_string(stat(facts, "state_memory_bytes_" + name)));
  }
}

void line_of_database(std::string& to, std::uint32_t database, std::uint64_t keys) {
  if (keys == 0) return;
  line(to, "db" + std::to_string(database),
       "keys=" + std::to_string(keys) + ",expires=0,avg_ttl=0");
}

// Database 0 has the key count of this node's own partitions. Other nodes are not asked; DBSIZE
// asks them.
void info_keyspace(const Facts& facts, std::string& to) {
  line_of_database(to, 0, stat(facts, "counters"));
  for (const auto& [database, keys] : facts.sizes) line_of_database(to, database, keys);
}

constexpr std::array kSections{
    Section{"Server", info_server},
    Section{"Clients", info_clients},
    Section{"Memory", info_memory},
    Section{"Persistence", info_persistence},
    Section{"Stats", info_stats},
    Section{"Replication", info_replication},
    Section{"CPU", info_cpu},
    Section{"Commandstats", info_commandstats},
    Section{"Errorstats", info_errorstats},
    Section{"Cluster", info_cluster},
    Section{"Kinds", info_kinds},
    Section{"Keyspace", info_keyspace},
};

constexpr std::string_view kOnlyIfAskedFor = "Commandstats";

std::string info_text(const Facts& facts, const std::vector<const Section*>& sections) {
  std::string text;
  for (const Section* const section : sections) {
    if (!text.empty()) text.append("\r\n");
    text.append("# ").append(section->name).append("\r\n");
    section->write(facts, text);
  }
  return text;
}

std::vector<const Section*> wanted_sections(Words wanted) {
  std::vector<const Section*> sections;
  for (const Section& section : kSections) {
    const bool by_default = section.name != kOnlyIfAskedFor;
    const bool is_wanted =
        (wanted.empty() && by_default) || std::ranges::any_of(wanted, [&](std::string_view one) {
          return same_word(one, "all") || same_word(one, "everything") ||
                 (same_word(one, "default") && by_default) || same_word(one, lowered(section.name));
        });
    if (is_wanted) sections.push_back(&section);
  }
  return sections;
}

// The number of the database whose counter that is. Nothing: it is of database 0 alone.
std::optional<std::uint32_t> database_of(std::string_view key) {
  const std::string_view name = namespace_of(key);
  const auto number = name.starts_with("db") ? to_integer(name.substr(2)) : std::nullopt;
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

void info(RespConnection& connection, Words words) {
  const Words wanted = words.subspan(1);
  const std::vector<const Section*> sections = wanted_sections(wanted);
  connection.settle_figures();
  const RespServer& server = connection.server();
  const auto facts =
      std::make_shared<Facts>(Facts{server, server.context.of_node(server.own_figures())});
  const bool counts = std::ranges::any_of(wanted, [](std::string_view one) {
    return same_word(one, "keyspace") || same_word(one, "all") || same_word(one, "everything");
  });
  const std::set<std::uint32_t>& used = facts->figures.resp.databases;
  if (!counts || used.empty()) return connection.writer().verbatim(info_text(*facts, sections));
  // Databases have no key counts, so the names are walked through.
  const auto walk = std::make_shared<Walk>(connection, "db");
  connection.run([facts, walk, sections](const RespAnswer& answer, RespWriter& to) {
    const Keys& step = *answer.keys;
    if (step.code == Code::ok) {
      for (const std::string& key : walk->take(step)) {
        const auto database = database_of(key);
        if (database && facts->figures.resp.databases.contains(*database))
          ++facts->sizes[*database];
      }
      if (!walk->ended()) {
        walk->ask();
        return false;
      }
    } else {
      facts->sizes.clear();
    }
    to.verbatim(info_text(*facts, sections));
    return true;
  });
  walk->ask();
}

// ---- CONFIG ----

// The name of a setting, as the first matching pattern gives it: a pattern that is a plain name
// gives its own spelling.
std::optional<std::string_view> told_as(std::string_view name, Words patterns) {
  for (const std::string_view pattern : patterns) {
    if (same_word(pattern, name)) return pattern;
    if (matches(lowered(pattern), name)) return name;
  }
  return std::nullopt;
}

void config_get(RespConnection& connection, Words words) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (const auto& [name, value] : connection.server().settings.shown) {
    if (const auto told = told_as(name, words.subspan(2))) found.emplace_back(*told, value);
  }
  RespWriter to = connection.writer();
  to.map(found.size());
  for (const auto& [name, value] : found) {
    to.bulk(name);
    to.bulk(value);
  }
}

void config_resetstat(RespConnection& connection, Words) {
  connection.server().reset_figures();
  connection.ok();
}

void config_set(RespConnection& connection, Words words) {
  if (words.size() % 2 == 1) return connection.error(kSyntaxError);
  const auto& shown = connection.server().settings.shown;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const bool known = std::any_of(shown.begin(), shown.end(), [&](const auto& setting) {
      return same_word(words[i], setting.first);
    });
    if (known) continue;
    return connection.error("ERR Unknown option or number of arguments for CONFIG SET - '" +
                            std::string(words[i]) + "'");
  }
  connection.error(
      "ERR CONFIG SET is not supported: change the node's settings file, and send the node "
      "SIGHUP, or restart it");
}

// Settings come from a file, variables and flags. This server writes none of them.
void config_rewrite(RespConnection& connection, Words) {
  connection.error("ERR The server is running without a config file");
}

constexpr std::string_view kAdmin = "admin noscript loading stale";
constexpr std::string_view kLoadingStale = "loading stale";

constexpr std::array kConfig{
    RespCommand{"get",
                -3,
                config_get,
                kMayAdminister,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Tells settings by their names.",
                "parameter..."},
    RespCommand{"resetstat",
                2,
                config_resetstat,
                kMayAdminister,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Sets the figures of INFO's stats, commandstats and errorstats to 0."},
    RespCommand{"rewrite",
                2,
                config_rewrite,
                kMayAdminister,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.8.0",
                "Refused: the node does not write the settings file."},
    RespCommand{"set",
                -4,
                config_set,
                kMayAdminister,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Refused: settings are read from a file at the start.",
                "parameter value"},
    help_row("server", "5.0.0"),
};

// ---- FUNCTION ----

// There is no function to remove. Redis's own tests send it before each test.
void function_flush(RespConnection& connection, Words words) {
  if (words.size() > 3) {
    return connection.error("ERR unknown subcommand or wrong number of arguments for '" +
                            std::string(words[1]) + "'. Try FUNCTION HELP.");
  }
  if (words.size() > 2 && !same_word(words[2], "async") && !same_word(words[2], "sync"))
    return connection.error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  connection.ok();
}

constexpr std::array kFunction{
    RespCommand{"flush",
                -2,
                function_flush,
                kAuthenticated,
                "write noscript",
                {},
                "@write @slow @scripting",
                "scripting",
                "7.0.0",
                "Removes all functions: there are none.",
                "[ASYNC|SYNC]"},
    help_row("scripting", "7.0.0", "@slow @scripting"),
};

constexpr std::array kIntrospectionCommands{
    RespCommand{"function",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "scripting",
                "7.0.0",
                "Commands about functions.",
                {},
                kFunction},
    RespCommand{"info",
                -1,
                info,
                kMayObserve,
                kLoadingStale,
                {},
                "@slow @dangerous",
                "server",
                "1.0.0",
                "Describes the node, in sections.",
                "[section...]"},
    RespCommand{"config",
                -2,
                nullptr,
                kAuthenticated,
                "",
                {},
                "@slow",
                "server",
                "2.0.0",
                "Commands about settings.",
                {},
                kConfig},
};

}  // namespace

std::span<const RespCommand> introspection_commands() { return kIntrospectionCommands; }

}  // namespace quipu
