#include "node/settings/setting_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <type_traits>

#include "node/base/level_names.h"
#include "node/net/address.h"

namespace quipu {
namespace {

using Type = RawSetting::Type;

constexpr std::array<std::string_view, 2> kLogFormats{"logfmt", "json"};
constexpr std::array<std::string_view, 3> kPlaintexts{"loopback", "refuse", "allow"};
constexpr std::array<std::string_view, 4> kLogLevels{"debug", "info", "warning", "error"};

// The object at the end of a path of members: at<&Settings::node, &NodeOptions::name>.
template <auto... path>
constexpr auto& at(auto& settings) {
  return (settings.*....*path);
}

// ---- one kind of row for each type ----

template <auto... path>
constexpr SettingRow text(SettingRow row) {
  row.type = Type::text;
  row.set = [](Settings& settings, const std::string& text) {
    at<path...>(settings) = text;
    return std::string();
  };
  row.show = [](const Settings& settings) { return at<path...>(settings); };
  return row;
}

// Where to listen. Empty: nowhere.
template <auto... path>
constexpr SettingRow address(SettingRow row) {
  row = text<path...>(row);
  row.set = [](Settings& settings, const std::string& text) {
    at<path...>(settings) = text;
    const Result<Address> address = parse_address(text);
    return text.empty() || address.ok() ? "" : "is no address: " + address.status().detail();
  };
  return row;
}

template <auto... path>
constexpr SettingRow yes_no(SettingRow row) {
  row.type = Type::yes_no;
  row.set = [](Settings& settings, const std::string& text) {
    if (text != "true" && text != "false") return "must be true or false, not \"" + text + '"';
    at<path...>(settings) = text == "true";
    return std::string();
  };
  row.show = [](const Settings& settings) {
    return std::string(at<path...>(settings) ? "true" : "false");
  };
  return row;
}

constexpr std::uint64_t plain(std::uint64_t number) { return number; }
template <class Count, class Unit>
std::uint64_t plain(std::chrono::duration<Count, Unit> time) {
  return static_cast<std::uint64_t>(time.count());
}

// The range of a duration, in its units.
template <const Bounds& range, auto... path>
constexpr SettingRow number(SettingRow row) {
  row.type = Type::number;
  row.set = [](Settings& settings, const std::string& text) {
    std::uint64_t number = 0;
    std::string why = read_number(range, text, number);
    auto& to = at<path...>(settings);
    if (why.empty()) to = static_cast<std::remove_reference_t<decltype(to)>>(number);
    return why;
  };
  row.show = [](const Settings& settings) { return std::to_string(plain(at<path...>(settings))); };
  return row;
}

// "a, b or c"
std::string list(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    text.append(i == 0 ? "" : last ? " or " : ", ").append(names[i]);
  }
  return text;
}

// An enum by its names.
template <const auto& names, auto... path>
constexpr SettingRow choice(SettingRow row) {
  row.type = Type::text;
  row.set = [](Settings& settings, const std::string& text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return "must be " + list(names) + ", not \"" + text + '"';
    auto& to = at<path...>(settings);
    to = static_cast<std::remove_reference_t<decltype(to)>>(found - names.begin());
    return std::string();
  };
  row.show = [](const Settings& settings) {
    return std::string(names.at(static_cast<std::size_t>(at<path...>(settings))));
  };
  return row;
}

// Applied by a reload.
constexpr SettingRow live(SettingRow row) {
  row.reloads = true;
  return row;
}

// ---- all ----

constexpr auto kNode = &Settings::node;
constexpr auto kPort = &NodeOptions::client_port;

constexpr std::array kTable{
    text<kNode, &NodeOptions::cluster>({"cluster.name", "QUIPU_CLUSTER_NAME"}),
    number<kReplication, kNode, &NodeOptions::replication>(
        {"cluster.replication", "QUIPU_CLUSTER_REPLICATION"}),
    number<kReactors, kNode, &NodeOptions::reactors>({"cluster.reactors", "QUIPU_CLUSTER_REACTORS",
                                                      "--reactors",
                                                      "of every node, each a thread"}),
    text<kNode, &NodeOptions::cluster_secret_file>(
        {"cluster.secret_file", "QUIPU_CLUSTER_SECRET_FILE"}),
    text<kNode, &NodeOptions::name>(
        {"node.name", "QUIPU_NODE_NAME", "--name", "this node's name, one of the members"}),
    text<kNode, &NodeOptions::data_directory>(
        {"node.data_directory", "QUIPU_DATA_DIRECTORY", "--data", "where the counters are kept"}),
    address<kNode, &NodeOptions::client_address>({"node.client_address", "QUIPU_CLIENT_ADDRESS",
                                                  "--client", "host:port to serve clients on"}),
    address<kNode, &NodeOptions::peer_address>({"node.peer_address", "QUIPU_PEER_ADDRESS", "--peer",
                                                "host:port to listen on for other members"}),
    yes_no<kNode, &NodeOptions::insecure>(
        {"node.insecure", "QUIPU_INSECURE", "--insecure", "allow addresses that others can reach"}),
    number<kGossipMilliseconds, kNode, &NodeOptions::gossip_interval>(
        {"node.gossip_interval_ms", "QUIPU_GOSSIP_INTERVAL_MS"}),
    number<kClockSkewMilliseconds, kNode, &NodeOptions::clock_skew>(
        {"node.clock_skew_ms", "QUIPU_CLOCK_SKEW_MS"}),
    number<kOutboxShards, kNode, &NodeOptions::outbox_shards>(
        {"node.outbox_shards", "QUIPU_OUTBOX_SHARDS"}),
    number<kCheckpointBytes, kNode, &NodeOptions::checkpoint_bytes>(
        {"node.checkpoint_bytes", "QUIPU_CHECKPOINT_BYTES"}),
    number<kMemoryLimit, kNode, &NodeOptions::memory_limit>(
        {"node.memory_limit", "QUIPU_MEMORY_LIMIT"}),
    choice<kLogFormats, &Settings::log_format>(
        {"node.log_format", "QUIPU_LOG_FORMAT", "--log-format", "logfmt or json"}),
    live(choice<kLogLevels, &Settings::log_level>(
        {"node.log_level", "QUIPU_LOG_LEVEL", "--log-level", "debug, info, warning or error"})),
    number<kDrainDelayMilliseconds, &Settings::drain_delay>(
        {"node.drain_delay_ms", "QUIPU_DRAIN_DELAY_MS"}),
    text<kNode, &NodeOptions::tls_certificate>({"tls.certificate", "QUIPU_TLS_CERTIFICATE"}),
    text<kNode, &NodeOptions::tls_key>({"tls.key", "QUIPU_TLS_KEY"}),
    text<kNode, &NodeOptions::tls_client_ca>({"tls.client_ca", "QUIPU_TLS_CLIENT_CA"}),
    text<kNode, &NodeOptions::tls_peer_ca>({"tls.peer_ca", "QUIPU_TLS_PEER_CA"}),
    address<&Settings::admin_address>({"admin.address", "QUIPU_ADMIN_ADDRESS"}),
    yes_no<&Settings::open_metrics>({"admin.open_metrics", "QUIPU_ADMIN_OPEN_METRICS"}),
    choice<kAckNames, kNode, kPort, &ClientPortOptions::resp_ack>(
        {"client.resp_ack", "QUIPU_CLIENT_RESP_ACK"}),
    yes_no<kNode, kPort, &ClientPortOptions::flushall>(
        {"client.flushall", "QUIPU_CLIENT_FLUSHALL"}),
    number<kDatabases, kNode, kPort, &ClientPortOptions::databases>(
        {"client.databases", "QUIPU_CLIENT_DATABASES"}),
    text<kNode, &NodeOptions::users_file>({"client.users_file", "QUIPU_CLIENT_USERS_FILE"}),
    choice<kPlaintexts, kNode, kPort, &ClientPortOptions::plaintext>(
        {"client.plaintext", "QUIPU_CLIENT_PLAINTEXT"}),
    live(number<kConnections, kNode, kPort, &ClientPortOptions::connections>(
        {"client.connections", "QUIPU_CLIENT_CONNECTIONS"})),
    live(number<kIdleSeconds, kNode, kPort, &ClientPortOptions::idle>(
        {"client.idle_seconds", "QUIPU_CLIENT_IDLE_SECONDS"})),
    number<kRequestSeconds, kNode, kPort, &ClientPortOptions::request>(
        {"client.request_seconds", "QUIPU_CLIENT_REQUEST_SECONDS"}),
    live(number<kSoftOutput, kNode, kPort, &ClientPortOptions::soft_output>(
        {"client.soft_output_bytes", "QUIPU_CLIENT_SOFT_OUTPUT_BYTES"})),
    live(number<kSoftOutputSeconds, kNode, kPort, &ClientPortOptions::soft_output_time>(
        {"client.soft_output_seconds", "QUIPU_CLIENT_SOFT_OUTPUT_SECONDS"})),
    live(number<kHardOutput, kNode, kPort, &ClientPortOptions::hard_output>(
        {"client.hard_output_bytes", "QUIPU_CLIENT_HARD_OUTPUT_BYTES"})),
};

}  // namespace

std::span<const SettingRow> setting_table() { return kTable; }

std::string read_number(Bounds range, const std::string& text, std::uint64_t& to) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || text.empty()) {
    return "must be a number from " + std::to_string(range.low) + " to " +
           std::to_string(range.high) + ", not \"" + text + '"';
  }
  if (std::string why = outside(range, number); !why.empty()) return why;
  to = number;
  return {};
}

}  // namespace quipu
