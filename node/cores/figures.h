// figures.h: the figures of a reactor, and their sum for the node.
//
// Published at each timer, so that other reactors need not ask. A figure may be that old.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/core_figures.h"
#include "node/cores/request_meter.h"
#include "protocol/client_messages.h"
#include "protocol/duration_histogram.h"
#include "protocol/instant.h"
#include "protocol/wall.h"

namespace quipu {

// For all connections on the client port, in either protocol.
struct PortFigures {
  std::uint64_t connected = 0;
  std::uint64_t received = 0;  // connections that found room
  std::uint64_t rejected = 0;  // … that found no room
  std::uint64_t reads = 0, bytes_in = 0;
  std::uint64_t writes = 0, bytes_out = 0;
  std::uint64_t in_per_second = 0, out_per_second = 0;  // bytes, in the last whole second
  std::uint64_t wrong_secrets = 0;                      // refused authentications
  std::uint64_t handshakes = 0, handshakes_failed = 0;  // of TLS
  std::uint64_t plaintext_refused = 0;                  // connections that began without TLS

  void add(const PortFigures& other);
};

// For one command of the Redis clients.
struct CommandFigures {
  std::uint64_t calls = 0;
  // The reactor's time for them, without waiting; see RespServer::end_turn.
  std::uint64_t nanoseconds = 0;
  std::uint64_t rejected = 0;  // calls with a wrong number of arguments, not in `calls`
  std::uint64_t failed = 0;    // calls answered with an error
};

// For the Redis clients.
struct RespFigures {
  std::uint64_t commands_processed = 0;
  std::uint64_t per_second = 0;        // commands, in the last whole second
  std::uint64_t hits = 0, misses = 0;  // for keys that were read
  std::uint64_t errors = 0;
  std::uint64_t scripts = 0;               // that are remembered
  std::set<std::uint32_t> databases{};     // that some client has selected, without 0
  std::vector<CommandFigures> commands{};  // in the order of command_names()
  std::map<std::string, std::uint64_t, std::less<>> errors_by_code{};

  void add(const RespFigures& other);
};

// What is measured now and then, apart from the core and its clients.
struct HostFigures {
  Wall at{};                     // when all figures were published
  std::string client_address{};  // as the members know it
  std::uint32_t weight = 1;
  std::uint64_t memory_limit = 0;
  std::optional<std::uint64_t> disk_free{};  // bytes; none: not measured yet, or the disk hangs
  Duration disk_under_way{};                 // see StorageThread::under_way
  std::uint64_t peer_connections = 0;
  std::uint64_t peers_refused = 0;  // peer connections that found no room
  std::uint64_t peer_handshakes = 0, peer_handshakes_failed = 0;  // of TLS
};

struct Figures {
  StatusReply status;
  RespFigures resp;
  PortFigures port;
  RequestFigures requests{};
  DurationHistogram syncs{};
  // These two are of each reactor, and never added up.
  CoreFigures core{};
  HostFigures host{};

  // Adds another reactor's numbers. The node's identity and state are not changed.
  void add(const Figures& other);
};

}  // namespace quipu
