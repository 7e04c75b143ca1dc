// dialer.h: keeps trying to connect to one address.
//
//   resolving ─▶ connecting ──▶ connected: on_connected, once
//       └──────────┴─failed─▶ waiting: 50 ms, doubled up to 2 s, jittered ─▶ resolving
//
// Reactor thread. Owned by whoever wants the connection and by its callbacks;
// after stop() it calls nobody.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>

#include "node/address.h"
#include "node/clock.h"
#include "protocol/random.h"

namespace quipu {

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  struct Events {
    std::function<void(asio::ip::tcp::socket)> connected;  // non-blocking
    std::function<void(std::string why)> failed;           // it will try again
  };

  Dialer(asio::io_context& io, Address address, Events events, Random random);

  // Now; and again when the connection was lost, after a wait that is short if it
  // had lived for long.
  void start();
  void start_again(Duration lived);
  void stop();

 private:
  void dial();
  void connect(const asio::ip::tcp::resolver::results_type& endpoints);
  void wait_and_dial();
  void on_failed(std::string why);
  void on_connected();

  const Address address_;
  const Events events_;
  Random random_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  Timer timer_;  // bounds an attempt, or waits for the next
  Duration backoff_;
  std::uint64_t attempt_ = 0;  // a callback of an older one is too late
};

}  // namespace quipu
