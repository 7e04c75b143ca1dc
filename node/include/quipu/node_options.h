// node_options.h: what a Node is opened with.
//
// Plain data without locks: fill it in on one thread. Node::open takes a copy. Every member has
// a default, so name only those that you change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/levels.h"
#include "quipu/log_level.h"

namespace quipu {

// From the peer port of a node's first reactor to that of its second, and so on.
inline constexpr std::uint16_t kReactorPorts = 100;

struct NodeMember {
  std::string name{};
  std::string peer_address{};  // host:port
  // host:port, as clients should dial it. Empty: as that node listens, unless that is
  // 0.0.0.0 or [::], which it tells nobody.
  std::string client_address{};
  std::string zone{};
  std::uint32_t weight = 1;  // 0: an edge node, which owns nothing and only forwards
};

// Of the client port. Redis clients name no level with what they change, so it is
// named here.
struct ClientPortOptions {
  Ack resp_ack = Ack::disk;
  bool flushall = false;             // whether FLUSHALL may reset every counter
  std::size_t connections = 10'000;  // at most; see node.h
  // A client that is silent for so long, and waits for no answer, goes; 0: never.
  std::chrono::seconds idle{0};
  // A client that has begun a request and not finished it within this time goes.
  std::chrono::seconds request{30};
  // Replies that a client does not fetch: of more than `soft_output` bytes for
  // `soft_output_time`, or ever more than `hard_output`, and it is dropped.
  std::size_t soft_output = std::size_t{1} << 20;
  std::chrono::seconds soft_output_time{10};
  std::size_t hard_output = std::size_t{8} << 20;
};

struct NodeOptions {
  std::string name = "dev";
  std::string cluster = "quipu";
  std::string data_directory{};  // created if missing; one process at a time
  // The founding members, this one included, the same list on each. Empty: a
  // cluster of one, which listens to no peer.
  std::vector<NodeMember> members{};
  std::uint8_t replication = 3;
  // Of every node of the cluster, fixed when it is founded. Each is a member by itself,
  // "n1", "n1/1", "n1/2", …, with a store of its own and kReactorPorts between their peer
  // ports; no two of a node own the same counter.
  std::uint8_t reactors = 1;
  std::string client_address{};  // where to listen; empty: no client port
  ClientPortOptions client_port{};
  std::string peer_address{};  // where to listen; empty: as in `members`
  // Required if an address is not loopback: nothing is encrypted yet.
  bool insecure = false;
  // Moves a corrupt store aside and fills a new one from the peers.
  bool rebuild = false;
  std::chrono::milliseconds gossip_interval{100};
  std::size_t outbox_shards = 100'000;
  std::size_t checkpoint_bytes = std::size_t{256} << 20;
  // Bytes that counters may take in memory, about; 0: as many as there are. Beyond, the
  // ones that are not used are on disk alone, and read from there when they are.
  std::size_t memory_limit = 0;
  // Called on the node's threads and on those that open and close it, by several at once; may
  // be empty. It must not throw. `fields` is logfmt, "key=value …". Both texts are valid only
  // during the call. While a call blocks, the node serves no client: write where that cannot
  // happen, or hand the line to a thread of your own.
  std::function<void(LogLevel, std::string_view message, std::string_view fields)> log{};
};

}  // namespace quipu
