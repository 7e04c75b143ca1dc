// cluster_status.h: the state of a cluster, as `quipu cluster status` shows it.
//
// Plain data without locks. It owns all that it holds, and is a copy: nothing changes it later.
// Threads: several may read one object at once, while none changes or destroys it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quipu/status.h"

namespace quipu {

// One member: its view of itself and of the others. A node with R reactors is R members.
struct MemberStatus {
  // This member's view of another one.
  struct Peer {
    std::string name{};
    std::string address{};     // of its peer port, host:port
    std::string state{};       // "up", "connecting", or why its connection was refused
    std::uint64_t outbox = 0;  // shards whose new state still waits to be sent there
    // This member has everything that the peer acknowledged longer ago. None: unknown.
    std::optional<std::chrono::milliseconds> age{};
    // How far the peer's clock is ahead of this member's. None: not compared lately.
    std::optional<std::chrono::milliseconds> clock{};
  };

  std::string name{};
  std::string client_address{};  // host:port; empty: unknown
  std::uint32_t weight = 1;      // 0: an edge node
  // ok: the member answered. unavailable: it did not. The detail says why, and all fields below
  // are empty.
  Status reached{};
  std::string state{};      // "ready", or what the member waits for
  std::uint64_t store = 0;  // the random id of its data directory
  // How far its clock is ahead of the median of all members'. None: it was never compared.
  std::optional<std::chrono::milliseconds> clock{};
  std::optional<bool> clock_trusted{};  // by the member itself. None: unknown
  std::string clock_doubt{};            // why not, for people
  // 8 hex digits, equal on members that have the same users. Empty: it has no users file.
  std::string users_digest{};
  std::vector<Peer> peers{};
  std::map<std::string, std::uint64_t> figures{};  // counts and sizes of this member, by name
};

struct ClusterStatus {
  std::string cluster{};  // its name
  std::uint64_t config_version = 0;
  std::uint8_t replication = 0;         // owners of each counter
  std::vector<MemberStatus> members{};  // by name
};

}  // namespace quipu
