// node_options.h: the options of Node::open.
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

#include "quipu/client_tls.h"
#include "quipu/credentials.h"
#include "quipu/levels.h"
#include "quipu/log_level.h"
#include "quipu/namespace.h"

namespace quipu {

// The distance between the peer ports of two neighbouring reactors of a node.
inline constexpr std::uint16_t kReactorPorts = 100;

// How long Node::close() waits if nothing else is said.
inline constexpr std::chrono::milliseconds kCloseNode{6'000};

struct NodeMember {
  std::string name{};
  std::string peer_address{};  // host:port
  // host:port that clients should dial. Empty: the address on which that node listens, unless
  // that is 0.0.0.0 or [::].
  std::string client_address{};
  std::string zone{};
  std::uint32_t weight = 1;  // 0: an edge node, which owns nothing and only forwards
  bool operator==(const NodeMember&) const = default;
};

// Whether the client port serves clients that do not encrypt, where it has a certificate.
enum class Plaintext : std::uint8_t {
  loopback,  // those on this machine
  refuse,    // none
  allow,     // all
};

// The client port. Redis clients do not choose a level for their changes, so `resp_ack` does.
struct ClientPortOptions {
  Ack resp_ack = Ack::disk;
  bool flushall = false;  // whether FLUSHALL may reset every counter
  Plaintext plaintext = Plaintext::loopback;
  std::uint32_t databases = 16;      // how many SELECT knows, as in Redis
  std::size_t connections = 10'000;  // at most; see node.h
  // A client that sends nothing for this long, and waits for no answer, is disconnected. 0: never.
  std::chrono::seconds idle{0};
  // A client that begins a request and does not finish it within this time is disconnected.
  std::chrono::seconds request{30};
  // A client is disconnected if it leaves more than `soft_output` bytes of replies unread for
  // `soft_output_time`, or more than `hard_output` bytes at any time.
  std::size_t soft_output = std::size_t{1} << 20;
  std::chrono::seconds soft_output_time{10};
  std::size_t hard_output = std::size_t{8} << 20;
};

struct NodeOptions {
  std::string name = "dev";
  std::string cluster = "quipu";
  std::string data_directory{};  // created if missing; one process at a time
  // The founding members, this one included. The same list on each member. Empty: a cluster of
  // one, which has no peer port.
  std::vector<NodeMember> members{};
  std::uint8_t replication = 3;
  // How many reactors every node of the cluster has. Fixed when the cluster is founded. Each is a
  // member by itself, "n1", "n1/1", "n1/2", …, with a store of its own. Their peer ports are
  // kReactorPorts apart. No two reactors of a node own the same counter.
  std::uint8_t reactors = 1;
  std::string client_address{};  // where to listen; empty: no client port
  ClientPortOptions client_port{};
  std::string peer_address{};  // where to listen; empty: as in `members`
  // The users that may connect to the client port, and what each may do (README, "Users"). Empty:
  // everybody may do everything. The node looks at the file every 10 s, and at Node::reload().
  std::string users_file{};
  // A user of the other members, with the permission observe: status() asks their client ports …
  Credentials credentials{};
  // … and encrypts the connections for this in such a way.
  ClientTls client_tls{};

  // ---- encryption (README, "Put it on a network") ----
  // The node looks at these files every 10 s, and at Node::reload(). If they are wrong then,
  // everything stays as it is. PEM files: with both of these, the client port speaks TLS 1.3. The
  // certificate names the host that clients dial, and is followed by those that lead to its CA.
  std::string tls_certificate{};
  std::string tls_key{};
  // PEM: clients must show a certificate of one of these CAs.
  std::string tls_client_ca{};
  // Links to the other members are encrypted with one of these two. All members need the same.
  std::string cluster_secret_file{};  // as quipu secret makes it
  // PEM: both sides show tls_certificate, which must be for the host of the member's peer_address
  // in `members`.
  std::string tls_peer_ca{};
  // Required if an address is not loopback and lacks its protection: for the client port a
  // certificate and users, for the peer port one of the two above.
  bool insecure = false;
  // Definitions that this node makes at its start if they were never made. What exists, or was
  // dropped, is not changed. Give all members the same list. They fix no kind: only
  // Counters::create_namespace does.
  std::vector<Namespace> namespaces{};
  // Moves a corrupt store aside and fills a new one from the peers.
  bool rebuild = false;
  // How often changes are sent to the other owners.
  std::chrono::milliseconds gossip_interval{100};
  // This node trusts its clock while that is so near the median of all members' clocks. The clocks
  // matter only to what has a date. All members should have the same value.
  std::chrono::milliseconds clock_skew{1000};
  // The most changed shards that are remembered for each peer that is slow or down. Beyond this,
  // anti-entropy repairs the peer.
  std::size_t outbox_shards = 100'000;
  // A checkpoint begins after this many bytes of journal.
  std::size_t checkpoint_bytes = std::size_t{256} << 20;
  // About how many bytes of memory counters may take. 0: no limit. Beyond it, unused counters are
  // on disk alone, and are read from there when they are needed.
  std::size_t memory_limit = 0;
  // Receives log lines; may be empty. It is called on the node's threads and on those that open
  // and close it, by several at once. It must not throw. `fields` is logfmt, "key=value …". Both
  // texts are valid only during the call. While a call blocks, the node serves no client: write
  // where that cannot happen, or hand the line to a thread of your own.
  std::function<void(LogLevel, std::string_view message, std::string_view fields)> log{};
};

}  // namespace quipu
