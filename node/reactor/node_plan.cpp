#include "node/reactor/node_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "node/net/connection_limits.h"
#include "protocol/check.h"
#include "protocol/namespace.h"

namespace quipu {
namespace {

// A cluster of one has no peers. The address is part of the cluster's id, so it must not vary.
constexpr const char* kNoPeers = "alone";

constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMaxPort = std::numeric_limits<std::uint16_t>::max();
// A peer is given up after this many silent intervals, but not sooner than the default.
constexpr int kSilentIntervals = 20;

Status refuse(std::string why) { return {Code::invalid_argument, std::move(why)}; }

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return refuse(std::string(what) + " is empty: give it a name");
  if (name.size() > kMaxName) return refuse(std::string(what) + " is longer than 255 bytes");
  return {};
}

Status check_range(std::string_view what, Bounds range, std::uint64_t value) {
  const std::string why = outside(range, value);
  return why.empty() ? Status() : refuse(std::string(what) + " " + why);
}

Status check_numbers(const NodeOptions& options) {
  const auto number = [](std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  };
  Status checked = check_range("the gossip interval in ms", kGossipMilliseconds,
                               number(options.gossip_interval));
  if (checked.ok())
    checked =
        check_range("the clock skew in ms", kClockSkewMilliseconds, number(options.clock_skew));
  if (checked.ok()) checked = check_range("reactors", kReactors, options.reactors);
  if (!checked.ok()) return checked;
  const std::string each = options.reactors == 1 ? "" : ", for each reactor,";
  // The options are for a node, and its reactors divide them equally. A share of something is
  // never 0, which would mean no limit.
  const auto check_share = [&](const char* what, Bounds range, std::size_t all) {
    range.or_none = range.or_none && all == 0;
    if (checked.ok()) checked = check_range(what + each, range, all / options.reactors);
  };
  check_share("outbox_shards", kOutboxShards, options.outbox_shards);
  check_share("checkpoint_bytes", kCheckpointBytes, options.checkpoint_bytes);
  check_share("memory_limit", kMemoryLimit, options.memory_limit);
  if (checked.ok()) checked = check_client_port(options.client_port);
  if (checked.ok()) checked = check_range("replication", kReplication, options.replication);
  return checked;
}

Status check_member(const NodeMember& member) {
  const std::string whose = " of member " + in_quotes(member.name);
  if (Status named = check_name("the name of a member", member.name); !named.ok()) return named;
  const Result<Address> peer = parse_address(member.peer_address);
  if (!peer.ok()) return refuse("peer " + peer.status().detail() + whose);
  if (!member.client_address.empty()) {
    const Result<Address> client = parse_address(member.client_address);
    if (!client.ok()) return refuse("client " + client.status().detail() + whose);
  }
  return check_range("the weight" + whose, kMemberWeight, member.weight);
}

std::vector<NodeMember> members_of(const NodeOptions& options) {
  if (!options.members.empty()) return options.members;
  return {{.name = options.name, .peer_address = kNoPeers, .client_address = {}, .zone = {}}};
}

std::string name_of(const std::string& node, std::size_t reactor) {
  return reactor == 0 ? node : node + '/' + std::to_string(reactor);
}

// Where another reactor listens if the first one listens at `first`.
Result<Address> address_of(const Address& first, std::size_t reactor) {
  const std::size_t port = first.port + reactor * kReactorPorts;
  if (first.port == 0 || port <= kMaxPort)
    return Address{first.host, static_cast<std::uint16_t>(first.port == 0 ? 0 : port)};
  return refuse(to_string(first) + " leaves no port for reactor " + std::to_string(reactor) + ", " +
                std::to_string(port) + ": choose a lower one");
}

// How many of a partition's replicas can be on different nodes.
std::size_t spread_over(const std::vector<NodeMember>& nodes, std::uint8_t replication) {
  const auto owners = std::count_if(nodes.begin(), nodes.end(),
                                    [](const NodeMember& node) { return node.weight != 0; });
  return std::clamp<std::size_t>(static_cast<std::size_t>(owners), 1, replication);
}

// The planner spreads replicas over zones, and reactors of one node must not hold the same
// counter. So each node is a zone, or is in one of as many zones as there are replicas.
Status keep_reactors_apart(std::vector<NodeMember>& nodes, std::size_t replicas) {
  std::set<std::string> zones;
  for (const NodeMember& node : nodes) {
    if (node.weight != 0) zones.insert(node.zone);
  }
  if (zones == std::set<std::string>{""}) {
    for (NodeMember& node : nodes) node.zone = node.name;
  } else if (zones.size() < replicas) {
    return refuse("with more than one reactor, there must be a zone for each of " +
                  std::to_string(replicas) + " replicas, and there are " +
                  std::to_string(zones.size()) + ": name more zones, or none");
  }
  return {};
}

Result<std::vector<Member>> reactors_of(const NodeMember& node, std::size_t reactors) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < reactors; ++i) {
    std::string peer = name_of(node.peer_address, i);
    if (const Result<Address> first = parse_address(node.peer_address); first.ok() && i > 0) {
      const Result<Address> own = address_of(*first, i);
      if (!own.ok()) return own.status();
      peer = to_string(*own);
    }
    members.push_back({.id = {},
                       .name = name_of(node.name, i),
                       .peer_address = std::move(peer),
                       .client_address = node.client_address,
                       .zone = node.zone,
                       .weight = node.weight});
  }
  return members;
}

Result<ClusterConfig> found(const NodeOptions& options) {
  std::vector<NodeMember> nodes = members_of(options);
  std::size_t replicas = options.members.empty() ? 1 : options.replication;
  if (options.reactors > 1) {
    replicas = spread_over(nodes, options.replication);
    if (Status apart = keep_reactors_apart(nodes, replicas); !apart.ok()) return apart;
  }
  std::vector<Member> members;
  for (const NodeMember& node : nodes) {
    Result<std::vector<Member>> reactors = reactors_of(node, options.reactors);
    if (!reactors.ok()) return reactors.status();
    std::move(reactors->begin(), reactors->end(), std::back_inserter(members));
  }
  if (members.size() > kMaxInboundLinks + 1) {
    return refuse(std::to_string(nodes.size()) + " nodes of " + std::to_string(options.reactors) +
                  " reactors each are " + std::to_string(members.size()) +
                  " members, and each can be connected to " + std::to_string(kMaxInboundLinks) +
                  " others: have fewer");
  }
  return found_config(options.cluster, std::move(members), static_cast<std::uint8_t>(replicas));
}

// `lacks`: see exposed(). Empty also if the network is trusted.
Result<std::optional<Address>> listen_address(const std::string& what, const std::string& text,
                                              const std::string& lacks) {
  if (text.empty()) return std::optional<Address>();
  const Result<Address> address = parse_address(text);
  if (!address.ok()) return refuse(what + " " + address.status().detail());
  if (std::string why = exposed(what, *address, lacks); !why.empty()) return refuse(std::move(why));
  return std::optional<Address>(*address);
}

// The first reactor accepts the clients of all. Reactors of a node without peers find each
// other at any free port.
Status plan_addresses(const NodeOptions& options, NodePlan& plan) {
  auto client = listen_address("client", options.client_address,
                               options.insecure ? "" : client_port_lacks(options));
  if (!client.ok()) return client.status();
  if (plan.reactor == 0) plan.client = *client;
  if (plan.config.members.size() < 2) return {};
  if (options.members.empty()) {
    plan.peer = Address{"127.0.0.1", 0};
    return {};
  }
  const bool own = !options.peer_address.empty();
  const Member& self = plan.config.members[plan.self];
  auto peer = listen_address("peer", own ? options.peer_address : self.peer_address,
                             options.insecure ? "" : peer_port_lacks(options));
  if (!peer.ok()) return peer.status();
  plan.peer = *peer;
  if (!own || !*peer) return {};
  const Result<Address> address = address_of(**peer, plan.reactor);
  if (!address.ok()) return address.status();
  plan.peer = *address;
  return {};
}

NodeSettings settings_of(const NodeOptions& options) {
  NodeSettings settings;
  settings.namespaces = options.namespaces;
  settings.gossip_interval = options.gossip_interval;
  settings.clock_skew = options.clock_skew;
  settings.clock_wait = std::chrono::seconds(1);
  settings.link_timeout =
      std::max(settings.link_timeout, kSilentIntervals * settings.gossip_interval);
  settings.outbox_shards = options.outbox_shards / options.reactors;
  settings.checkpoint.journal_bytes = options.checkpoint_bytes / options.reactors;
  settings.checkpoint.record_bytes = 256;
  settings.memory_limit = options.memory_limit / options.reactors;
  return settings;
}

Status check(const NodeOptions& options) {
  if (Status named = check_name("the node's name", options.name); !named.ok()) return named;
  if (Status named = check_name("the cluster's name", options.cluster); !named.ok()) return named;
  if (options.data_directory.empty()) return refuse("no data directory is set: name one");
  if (Status checked = check_numbers(options); !checked.ok()) return checked;
  if (Status checked = check_tls(options); !checked.ok()) return checked;
  for (const NodeMember& member : options.members) {
    if (Status checked = check_member(member); !checked.ok()) return checked;
  }
  if (options.namespaces.size() > kMaxNamespaces) {
    return refuse(std::to_string(options.namespaces.size()) +
                  " namespaces are set: a cluster has at most " + std::to_string(kMaxNamespaces));
  }
  for (const Namespace& one : options.namespaces) {
    if (std::string why = objection(one.name, one.policy); !why.empty()) return refuse(why);
    // They are made as if long ago. So a kind would win over one that a create has fixed since.
    if (one.policy.kind) {
      return refuse(
          "a namespace that a node defines at its start fixes no kind: create it with "
          "quipu namespace create");
    }
  }
  if (options.rebuild && options.members.size() < 2) {
    return refuse(
        "rebuild fills a new store from the peers, and a cluster of one has none: restore "
        "a backup of the data directory, or move it away to start empty");
  }
  return {};
}

}  // namespace

std::string outside(Bounds range, std::uint64_t value) {
  if ((value >= range.low && value <= range.high) || (range.or_none && value == 0)) return {};
  return "is " + std::to_string(value) + ": choose " + (range.or_none ? "0, or " : "") +
         std::to_string(range.low) + " to " + std::to_string(range.high);
}

std::string in_words(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    text.append(i == 0 ? "" : last ? " and " : ", ").append(names[i]);
  }
  return text;
}

std::string client_port_lacks(const NodeOptions& options) {
  std::vector<std::string> missing;
  if (options.tls_certificate.empty()) missing.emplace_back("tls.certificate");
  if (options.tls_key.empty()) missing.emplace_back("tls.key");
  if (options.users_file.empty()) missing.emplace_back("client.users_file");
  if (options.client_port.plaintext == Plaintext::allow)
    missing.emplace_back("client.plaintext = \"loopback\"");
  return in_words(missing);
}

std::string peer_port_lacks(const NodeOptions& options) {
  const bool has = !options.cluster_secret_file.empty() || !options.tls_peer_ca.empty();
  return has ? "" : "cluster.secret_file or tls.peer_ca";
}

std::string exposed(const std::string& what, const Address& address, const std::string& lacks) {
  if (is_loopback(address) || lacks.empty()) return {};
  return what + " address " + to_string(address) + " is not loopback: set " + lacks +
         ", or node.insecure = true if the network is trusted";
}

TlsPaths tls_paths(const NodeOptions& options) {
  TlsPaths paths{.certificate = options.tls_certificate,
                 .key = options.tls_key,
                 .client_ca = options.tls_client_ca,
                 .peer_ca = options.tls_peer_ca,
                 .cluster_secret = options.cluster_secret_file};
  const auto self = std::ranges::find(options.members, options.name, &NodeMember::name);
  if (self != options.members.end()) {
    const Result<Address> peer = parse_address(self->peer_address);
    if (peer.ok()) paths.peer_host = peer->host;
  }
  return paths;
}

Status check_tls(const NodeOptions& options) {
  struct Partner {
    const char* name;
    bool set;
    const char* partner;
    bool has_partner;
  };
  const bool certificate = !options.tls_certificate.empty();
  const bool key = !options.tls_key.empty();
  const bool refuses = options.client_port.plaintext == Plaintext::refuse;
  for (const auto& [name, set, partner, has_partner] :
       {Partner{"tls.certificate", certificate, "tls.key", key},
        Partner{"tls.key", key, "tls.certificate", certificate},
        Partner{"tls.client_ca", !options.tls_client_ca.empty(), "tls.certificate", certificate},
        Partner{"tls.peer_ca", !options.tls_peer_ca.empty(), "tls.certificate", certificate},
        Partner{"client.plaintext = \"refuse\"", refuses, "tls.certificate", certificate}}) {
    if (set && !has_partner)
      return refuse(std::string(name) + " is set, and " + partner + " is missing: set both");
  }
  if (!options.tls_peer_ca.empty() && !options.cluster_secret_file.empty())
    return refuse(
        "cluster.secret_file and tls.peer_ca are both set: keep one, and remove the "
        "other");
  return {};
}

Status check_client_port(const ClientPortOptions& port) {
  const auto seconds = [](std::chrono::seconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  };
  Status checked = check_range("the client port's databases", kDatabases, port.databases);
  if (checked.ok())
    checked = check_range("the client port's connections", kConnections, port.connections);
  if (checked.ok())
    checked = check_range("the client port's idle time in s", kIdleSeconds, seconds(port.idle));
  if (checked.ok())
    checked =
        check_range("the client port's request time in s", kRequestSeconds, seconds(port.request));
  if (checked.ok()) checked = check_range("soft_output in bytes", kSoftOutput, port.soft_output);
  if (checked.ok())
    checked =
        check_range("soft_output_time in s", kSoftOutputSeconds, seconds(port.soft_output_time));
  if (checked.ok()) checked = check_range("hard_output in bytes", kHardOutput, port.hard_output);
  return checked;
}

Result<NodePlan> plan_node(const NodeOptions& options, std::size_t reactor) {
  if (Status checked = check(options); !checked.ok()) return checked;
  QUIPU_CHECK(reactor == 0 || reactor < options.reactors,
              "a plan is of a reactor that the node has", reactor, options.reactors);
  Result<ClusterConfig> config = found(options);
  if (!config.ok()) return config.status();
  const std::optional<MemberIndex> self = config->find(node_id(name_of(options.name, reactor)));
  if (!self) {
    return refuse("node " + in_quotes(options.name) +
                  " is not among the members: add it on every node, or correct the name");
  }
  NodeSettings settings = settings_of(options);
  for (std::size_t i = 0; i < options.reactors; ++i) {
    if (const auto sibling = config->find(node_id(name_of(options.name, i))))
      settings.same_clock.push_back(*sibling);
  }
  NodePlan plan{.config = std::move(*config),
                .reactor = reactor,
                .reactors = options.reactors,
                .self = *self,
                .settings = std::move(settings),
                .client = {},
                .client_port = options.client_port,
                .credentials = options.credentials,
                .peer = {},
                .peer_hosts = {}};
  if (!options.members.empty()) {
    for (const Member& member : plan.config.members)
      plan.peer_hosts.push_back(
          parse_address(member.peer_address)->host);  // check() found it sound
  }
  if (Status planned = plan_addresses(options, plan); !planned.ok()) return planned;
  return plan;
}

}  // namespace quipu
