// cluster_status.h: how a cluster is, as `quipu cluster status` shows it.
//
// Plain data without locks, which owns all that it holds. It is a copy: nothing changes it later.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quipu/status.h"

namespace quipu {

// One member, as it sees itself and the others. A node with R reactors is R members.
struct MemberStatus {
  // Another member, as this one sees it.
  struct Peer {
    std::string name{};
    std::string address{};     // of its peer port, host:port
    std::string state{};       // "up", "connecting", or why its connection was refused
    std::uint64_t outbox = 0;  // shards whose new state still waits to be sent there
    // Nothing that the peer acknowledged longer ago is missing here. None: cannot tell.
    std::optional<std::chrono::milliseconds> age{};
  };

  std::string name{};
  std::string client_address{};  // host:port; empty: none is known
  std::uint32_t weight = 1;      // 0: an edge node
  // ok: the member answered. unavailable: it could not be asked; the detail says why, and all
  // that follows is empty.
  Status reached{};
  std::string state{};      // "ready", or what the member waits for
  std::uint64_t store = 0;  // the random id of its data directory
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
