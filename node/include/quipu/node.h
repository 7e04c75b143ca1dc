// node.h: a member of a Quipu cluster inside your program.
//
//   auto node = quipu::Node::open({.name = "app1", .data_directory = "/var/lib/app/quipu"});
//   if (!node.ok()) { … node.status().message() … }
//   (*node)->counter("likes:42").add(1);
//
// A Node owns, for each of its reactors, a thread and a storage thread. It installs no
// signal handler and no global logger. Opening recovers the store first: a second or so
// per few million counters.
//
// It accepts as many connections as the limit of open files (RLIMIT_NOFILE, when it
// is opened) leaves after some 550 for each reactor, and at most 10,000 clients. Raise the
// soft limit before: 1,024 is too few for two reactors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/counter.h"

namespace quipu {

// From the peer port of a node's first reactor to that of its second, and so on.
inline constexpr std::uint16_t kReactorPorts = 100;

struct NodeMember {
  std::string name;
  std::string peer_address;  // host:port
  // host:port, as clients should dial it. Empty: as that node listens, unless that is
  // 0.0.0.0 or [::], which it tells nobody.
  std::string client_address;
  std::string zone;
  std::uint32_t weight = 1;  // 0: an edge node, which owns nothing and only forwards
};

// Of the client port. Redis clients name no level with what they change, so it is
// named here.
struct ClientPortOptions {
  Ack resp_ack = Ack::disk;
  bool flushall = false;             // whether FLUSHALL may reset every counter
  std::size_t connections = 10'000;  // at most; see above
  // A client that is silent for so long, and waits for no answer, goes; 0: never.
  std::chrono::seconds idle{0};
  // Replies that a client does not fetch: of more than `soft_output` bytes for
  // `soft_output_time`, or ever more than `hard_output`, and it is dropped.
  std::size_t soft_output = std::size_t{1} << 20;
  std::chrono::seconds soft_output_time{10};
  std::size_t hard_output = std::size_t{8} << 20;
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct NodeOptions {
  std::string name = "dev";
  std::string cluster = "quipu";
  std::string data_directory;  // created if missing; one process at a time
  // The founding members, this one included, the same list on each. Empty: a
  // cluster of one, which listens to no peer.
  std::vector<NodeMember> members;
  std::uint8_t replication = 3;
  // Of every node of the cluster, fixed when it is founded. Each is a member by itself,
  // "n1", "n1/1", "n1/2", …, with a store of its own and kReactorPorts between their peer
  // ports; no two of a node own the same counter.
  std::uint8_t reactors = 1;
  std::string client_address;  // where to listen; empty: no client port
  ClientPortOptions client_port;
  std::string peer_address;  // where to listen; empty: as in `members`
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
  // Called on the node's threads; may be empty. `fields` is logfmt, "key=value …". While
  // a call blocks, the node serves nobody: write where that cannot happen, or hand the
  // line to a thread of your own.
  std::function<void(LogLevel, std::string_view message, std::string_view fields)> log;
};

class QUIPU_EXPORT Node {
 public:
  // cannot_start: an address in use, a directory that is locked, missing rights or
  // another cluster's or node's. invalid_argument: options that contradict each
  // other. corrupt: see NodeOptions::rebuild. Nothing is left behind.
  static Result<std::unique_ptr<Node>> open(NodeOptions options);
  // Closes as close() does. In one of its own callbacks it does so on a thread of its
  // own, and returns at once; `log` is called, and the directory locked, until that ends.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] Counter counter(std::string key);

  // Founded, and settled with its peers; false after the timeout.
  [[nodiscard]] bool wait_ready(std::chrono::milliseconds timeout);
  // The address that the client port got (port 0 in the options: a free one).
  [[nodiscard]] std::string client_address() const;
  [[nodiscard]] std::string peer_address() const;

  // Finishes what clients wait for (5 s), flushes to peers (1 s), makes all durable
  // and joins the threads. Calls made later answer `unavailable`. would_deadlock in
  // a callback.
  Status close();
  // Blocks until the node has failed (storage_failed) or was closed (ok).
  Status wait();

 private:
  class Impl;
  explicit Node(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace quipu
