// turned_away.h: connections that may not come in. Each is told why, in what it
// speaks, which its first byte tells.
//
//   added ──first bytes──▶ told ──▶ closed by the client, or when its time is over
//      └──none in time, or too many like it──▶ closed without a word
//
// They are few, hold no buffer, and need no core. Reactor thread; outlives the
// io_context's run.
#pragma once

#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "node/base/clock.h"
#include "protocol/client_messages.h"

namespace quipu {

class TurnedAway {
 public:
  struct Reason {
    Refusal native;
    std::string redis;  // "ERR …"
  };

  // At most so many at once, for so long each.
  TurnedAway(std::size_t most, std::chrono::milliseconds time) : most_(most), time_(time) {}

  // `socket` is non-blocking, of an io_context that runs.
  void add(asio::ip::tcp::socket socket, Reason why);
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
