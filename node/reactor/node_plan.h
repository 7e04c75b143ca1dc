// node_plan.h: checks NodeOptions, and computes the settings of each reactor. Pure.
#pragma once

#include <optional>

#include "cluster/gates/node_settings.h"
#include "cluster/membership/config.h"
#include "node/net/address.h"
#include "node/tls/tls_paths.h"
#include "quipu/node_options.h"
#include "storage/recovery.h"

namespace quipu {

// The allowed range of a number; both ends are allowed.
struct Bounds {
  std::uint64_t low;
  std::uint64_t high;
  bool or_none = false;  // 0 is allowed, too
};
inline constexpr Bounds kGossipMilliseconds{10, 10'000};
inline constexpr Bounds kClockSkewMilliseconds{100, 4'000};
inline constexpr Bounds kDrainDelayMilliseconds{0, 600'000};
inline constexpr Bounds kOutboxShards{1, 10'000'000};
inline constexpr Bounds kCheckpointBytes{std::uint64_t{1} << 16, std::uint64_t{1} << 36};
inline constexpr Bounds kMemoryLimit{std::uint64_t{1} << 20, std::uint64_t{1} << 44, true};
inline constexpr Bounds kDatabases{1, 10'000};
inline constexpr Bounds kConnections{1, 1'000'000};
inline constexpr Bounds kIdleSeconds{0, 31'536'000};
inline constexpr Bounds kRequestSeconds{1, 3600};
// An answer may be as long as a frame, and must never disconnect its client.
inline constexpr Bounds kSoftOutput{std::uint64_t{1} << 16, std::uint64_t{1} << 30};
inline constexpr Bounds kSoftOutputSeconds{1, 3600};
inline constexpr Bounds kHardOutput{std::uint64_t{4} << 20, std::uint64_t{1} << 32};
inline constexpr Bounds kReactors{1, 64};
inline constexpr Bounds kReplication{1, 7};  // as found_config() accepts
inline constexpr Bounds kMemberWeight{0, 1000};

// Empty, or why `value` is not in the range: "is 5: choose 10 to 10000".
[[nodiscard]] std::string outside(Bounds range, std::uint64_t value);

// "a, b and c"
[[nodiscard]] std::string in_words(const std::vector<std::string>& names);

// The settings that a port lacks before others may reach it, for people. Empty: it is protected.
[[nodiscard]] std::string client_port_lacks(const NodeOptions& options);
[[nodiscard]] std::string peer_port_lacks(const NodeOptions& options);

// Empty, or why it is unsafe to listen there unless the network is trusted. `lacks`: as above.
[[nodiscard]] std::string exposed(const std::string& what, const Address& address,
                                  const std::string& lacks);

// invalid_argument: names a setting of TLS that lacks its partner, or excludes another one.
[[nodiscard]] Status check_tls(const NodeOptions& options);

// The files that protect the ports.
[[nodiscard]] TlsPaths tls_paths(const NodeOptions& options);

// The plan of one reactor of a node.
struct NodePlan {
  ClusterConfig config;
  std::size_t reactor = 0;
  std::size_t reactors = 1;
  MemberIndex self = 0;
  NodeSettings settings;
  std::optional<Address> client;  // where to listen
  ClientPortOptions client_port;
  Credentials credentials;
  std::optional<Address> peer;
  // The peer host of each member, as in the options. Empty: the only links are between reactors of
  // this node.
  std::vector<std::string> peer_hosts;

  [[nodiscard]] StoreOwner owner() const { return {config.id, config.members[self].id}; }
};

// invalid_argument: the text names the number that is out of its range.
[[nodiscard]] Status check_client_port(const ClientPortOptions& port);

// invalid_argument: the text names the option, what is wrong, and what to do.
// REQUIRES: reactor < options.reactors, or 0
[[nodiscard]] Result<NodePlan> plan_node(const NodeOptions& options, std::size_t reactor = 0);

}  // namespace quipu
