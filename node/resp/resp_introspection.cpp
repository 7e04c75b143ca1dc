// Commands that describe the server: INFO, CONFIG, COMMAND.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "node/resp/resp_command.h"
#include "node/version.h"

namespace quipu {
namespace {

using Words = RespConnection::Words;

// ---- INFO ----

struct Section {
  std::string_view name;
  void (*write)(const RespServer&, std::string& to);
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

void info_server(const RespServer& server, std::string& to) {
  const NodeCore& core = *server.context.port.core;
  line(to, "redis_version", kRedisVersion);
  line(to, "quipu_version", kVersion);
  line(to, "redis_mode", "standalone");
  line(to, "arch_bits", 8 * sizeof(void*));
  line(to, "process_id", static_cast<std::uint64_t>(::getpid()));
  line(to, "node_name", core.status(NodeClock::now(), 0).name);
  line(to, "node_state", core.state());
  line(to, "uptime_in_seconds", seconds_up(server));
  line(to, "uptime_in_days", seconds_up(server) / 86'400);
}

void info_clients(const RespServer& server, std::string& to) {
  line(to, "connected_clients", server.connections.size());
  line(to, "maxclients", server.settings.connections);
  line(to, "blocked_clients", 0);
}

// Pages, from the second field of /proc/self/statm.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string human(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{"B", "K", "M", "G"};
  std::size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.2f", size);
  return std::string(text.data(), static_cast<std::size_t>(length)).append(kUnits[unit]);
}

void info_memory(const RespServer&, std::string& to) {
  const std::uint64_t resident = resident_bytes();
  line(to, "used_memory", resident);
  line(to, "used_memory_human", human(resident));
  line(to, "used_memory_rss", resident);
  line(to, "used_memory_rss_human", human(resident));
  line(to, "maxmemory", 0);
  line(to, "maxmemory_policy", "noeviction");
}

// Every add at disk is synced before it is acknowledged.
void info_persistence(const RespServer& server, std::string& to) {
  const NodeCore& core = *server.context.port.core;
  line(to, "loading", core.ready() ? 0 : 1);
  line(to, "rdb_bgsave_in_progress", 0);
  line(to, "aof_enabled", 1);
  line(to, "aof_rewrite_in_progress", 0);
  line(to, "aof_last_write_status", "ok");
}

void info_stats(const RespServer& server, std::string& to) {
  line(to, "total_connections_received", server.connections_received);
  line(to, "total_commands_processed", server.commands_processed);
  line(to, "instantaneous_ops_per_sec", server.per_second);
  line(to, "total_error_replies", server.errors);
  line(to, "keyspace_hits", server.hits);
  line(to, "keyspace_misses", server.misses);
  for (const Stat& stat : server.context.port.core->status(NodeClock::now(), 0).stats)
    line(to, "quipu_" + stat.name, stat.value);
}

// Every node takes writes; none is another's copy.
void info_replication(const RespServer&, std::string& to) {
  line(to, "role", "master");
  line(to, "connected_slaves", 0);
}

void info_cpu(const RespServer&, std::string& to) {
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

void info_cluster(const RespServer&, std::string& to) { line(to, "cluster_enabled", 0); }

// This node's: those of other owners' partitions are not asked for.
std::uint64_t counters(const ShardMap& map) {
  std::uint64_t all = 0;
  for (std::uint16_t p = 0; p < kPartitions; ++p) all += map.counters(Partition{p});
  return all;
}

void info_keyspace(const RespServer& server, std::string& to) {
  const std::uint64_t keys = counters(server.context.port.core->executor().map());
  if (keys > 0) line(to, "db0", "keys=" + std::to_string(keys) + ",expires=0,avg_ttl=0");
}

constexpr std::array kSections{
    Section{"Server", info_server},     Section{"Clients", info_clients},
    Section{"Memory", info_memory},     Section{"Persistence", info_persistence},
    Section{"Stats", info_stats},       Section{"Replication", info_replication},
    Section{"CPU", info_cpu},           Section{"Cluster", info_cluster},
    Section{"Keyspace", info_keyspace},
};

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::transform(text.begin(), text.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

void info(RespConnection& connection, Words words) {
  const Words wanted = words.subspan(1);
  const auto is_wanted = [&wanted](const Section& section) {
    if (wanted.empty()) return true;
    return std::any_of(wanted.begin(), wanted.end(), [&section](std::string_view one) {
      return same_word(one, "all") || same_word(one, "everything") || same_word(one, "default") ||
             same_word(one, lowered(section.name));
    });
  };
  std::string text;
  for (const Section& section : kSections) {
    if (!is_wanted(section)) continue;
    if (!text.empty()) text.append("\r\n");
    text.append("# ").append(section.name).append("\r\n");
    section.write(connection.server(), text);
  }
  connection.writer().verbatim(text);
}

// ---- CONFIG ----

void config_get(RespConnection& connection, Words words) {
  std::vector<const std::pair<std::string, std::string>*> found;
  for (const auto& shown : connection.server().settings.shown) {
    const auto patterns = words.subspan(2);
    if (std::any_of(patterns.begin(), patterns.end(), [&shown](std::string_view pattern) {
          return matches(lowered(pattern), shown.first);
        }))
      found.push_back(&shown);
  }
  RespWriter to = connection.writer();
  to.map(found.size());
  for (const auto* one : found) {
    to.bulk(one->first);
    to.bulk(one->second);
  }
}

void config_resetstat(RespConnection& connection, Words) {
  RespServer& server = connection.server();
  server.connections_received = server.commands_processed = 0;
  server.hits = server.misses = server.errors = 0;
  connection.ok();
}

void config_set(RespConnection& connection, Words) {
  connection.error(
      "ERR CONFIG SET is not supported: change the node's settings file and restart the node");
}

// ---- COMMAND ----

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

void write_set(RespWriter& to, std::string_view words) {
  const auto parts = split(words);
  to.set(parts.size());
  for (const std::string_view part : parts) to.simple(part);
}

void write_key_spec(RespWriter& to, const RespCommand& command) {
  const bool writes = command.flags.starts_with("write");
  to.map(3);
  to.bulk("flags");
  to.set(2);
  to.simple(writes ? "RW" : "RO");
  to.simple(writes ? "UPDATE" : "ACCESS");
  to.bulk("begin_search");
  to.map(2);
  to.bulk("type");
  to.bulk("index");
  to.bulk("spec");
  to.map(1);
  to.bulk("index");
  to.integer(command.keys.first);
  to.bulk("find_keys");
  to.map(2);
  to.bulk("type");
  to.bulk("range");
  to.bulk("spec");
  to.map(3);
  to.bulk("lastkey");
  to.integer(command.keys.last < 0 ? command.keys.last : command.keys.last - command.keys.first);
  to.bulk("keystep");
  to.integer(command.keys.step);
  to.bulk("limit");
  to.integer(0);
}

std::string full_name(const RespCommand& command, const RespCommand* container) {
  std::string name(command.name);
  return container == nullptr ? name : std::string(container->name) + '|' + name;
}

void write_command(RespWriter& to, const RespCommand& command, const RespCommand* container) {
  to.array(10);
  to.bulk(full_name(command, container));
  to.integer(command.arity);
  write_set(to, command.flags);
  to.integer(command.keys.first);
  to.integer(command.keys.last);
  to.integer(command.keys.step);
  write_set(to, command.categories);
  to.array(0);  // tips
  to.array(command.keys.first > 0 ? 1 : 0);
  if (command.keys.first > 0) write_key_spec(to, command);
  to.array(command.subcommands.size());
  for (const RespCommand& sub : command.subcommands) write_command(to, sub, &command);
}

void write_docs(RespWriter& to, const RespCommand& command, const RespCommand* container) {
  to.bulk(full_name(command, container));
  to.map(command.subcommands.empty() ? 4 : 5);
  to.bulk("summary");
  to.bulk(command.summary);
  to.bulk("since");
  to.bulk(command.since);
  to.bulk("group");
  to.bulk(command.group);
  to.bulk("complexity");
  to.bulk(command.complexity());
  if (command.subcommands.empty()) return;
  to.bulk("subcommands");
  to.map(command.subcommands.size());
  for (const RespCommand& sub : command.subcommands) write_docs(to, sub, &command);
}

void command(RespConnection& connection, Words) {
  RespWriter to = connection.writer();
  to.array(resp_commands().size());
  for (const RespCommand& one : resp_commands()) write_command(to, one, nullptr);
}

void command_count(RespConnection& connection, Words) {
  connection.writer().integer(static_cast<std::int64_t>(resp_commands().size()));
}

void command_list(RespConnection& connection, Words) {
  RespWriter to = connection.writer();
  to.array(resp_commands().size());
  for (const RespCommand& one : resp_commands()) to.bulk(one.name);
}

// "get", or "client|list".
void command_info(RespConnection& connection, Words words) {
  if (words.size() == 2) return command(connection, words);
  RespWriter to = connection.writer();
  to.array(words.size() - 2);
  for (const std::string_view name : words.subspan(2)) {
    const std::size_t bar = std::min(name.find('|'), name.size());
    const RespCommand* const one = find_command(name.substr(0, bar));
    const RespCommand* const sub = one == nullptr || bar == name.size()
                                       ? nullptr
                                       : find_subcommand(*one, name.substr(bar + 1));
    if (sub != nullptr) {
      write_command(to, *sub, one);
    } else if (one != nullptr && bar == name.size()) {
      write_command(to, *one, nullptr);
    } else {
      to.null_array();
    }
  }
}

void command_docs(RespConnection& connection, Words words) {
  std::vector<const RespCommand*> wanted;
  for (const std::string_view name : words.subspan(2)) {
    if (const RespCommand* const one = find_command(name)) wanted.push_back(one);
  }
  if (words.size() == 2)
    for (const RespCommand& one : resp_commands()) wanted.push_back(&one);
  RespWriter to = connection.writer();
  to.map(wanted.size());
  for (const RespCommand* one : wanted) write_docs(to, *one, nullptr);
}

constexpr std::string_view kAdmin = "admin noscript loading stale";
constexpr std::string_view kFlags = "loading stale";
constexpr std::string_view kCategories = "@slow @connection";

constexpr std::array kConfig{
    RespCommand{"get",
                -3,
                config_get,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Tells settings by their names."},
    RespCommand{"resetstat",
                2,
                config_resetstat,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Sets the figures of INFO stats to 0."},
    RespCommand{"set",
                -4,
                config_set,
                kAdmin,
                {},
                "@admin @slow @dangerous",
                "server",
                "2.0.0",
                "Refused: settings are read from a file at the start."},
};

constexpr std::array kCommand{
    RespCommand{"count",
                2,
                command_count,
                kFlags,
                {},
                kCategories,
                "server",
                "2.8.13",
                "Tells how many commands there are."},
    RespCommand{
        "docs", -2, command_docs, kFlags, {}, kCategories, "server", "7.0.0", "Explains commands."},
    RespCommand{"info",
                -2,
                command_info,
                kFlags,
                {},
                kCategories,
                "server",
                "2.8.13",
                "Describes commands."},
    RespCommand{
        "list", 2, command_list, kFlags, {}, kCategories, "server", "7.0.0", "Names all commands."},
};

constexpr std::array kCommands{
    RespCommand{"info",
                -1,
                info,
                kFlags,
                {},
                "@slow @dangerous",
                "server",
                "1.0.0",
                "Describes the node, in sections."},
    RespCommand{"config",
                -2,
                nullptr,
                "",
                {},
                "@slow",
                "server",
                "2.0.0",
                "Commands about settings.",
                kConfig},
    RespCommand{"command",
                -1,
                command,
                kFlags,
                {},
                kCategories,
                "server",
                "2.8.13",
                "Describes all commands.",
                kCommand},
};

}  // namespace

std::span<const RespCommand> introspection_commands() { return kCommands; }

}  // namespace quipu
