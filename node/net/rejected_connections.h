// rejected_connections.h: connections over the limit. Each gets an error in its own protocol,
// which its first byte shows.
//
//   added ──first bytes──▶ error sent ──▶ closed by the client, or when its time is over
//      └──none in time, or too many like it──▶ closed without an error
//
// They are few, hold no buffer, and need no core. Reactor thread. Outlives the io_context's
// run.
#pragma once

#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "node/base/clock.h"
#include "protocol/client_messages.h"

namespace quipu {

class RejectedConnections {
 public:
  struct Reason {
    Refusal native;
    std::string redis;  // "ERR …"
  };

  // At most this many at one time, each for this long.
  RejectedConnections(std::size_t most, std::chrono::milliseconds time)
      : most_(most), time_(time) {}

  // `socket` is non-blocking, of an io_context that runs.
  void add(asio::ip::tcp::socket socket, const Reason& why);
  void clear() { connections_.clear(); }

 private:
  struct Connection {
    Connection(asio::ip::tcp::socket from, Reason reason, Instant until)
        : socket(std::move(from)), why(std::move(reason)), late(socket.get_executor(), until) {}
    asio::ip::tcp::socket socket;
    const Reason why;
    Timer late;
    bool told = false;
  };
  using Number = std::uint64_t;

  void wait(Number number, Connection& connection);
  void on_readable(Number number);
  static void tell(Connection& connection, std::byte first);

  const std::size_t most_;
  const std::chrono::milliseconds time_;
  std::map<Number, Connection> connections_;
  Number next_ = 0;
};

}  // namespace quipu
