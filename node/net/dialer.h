// dialer.h: keeps trying to connect to one address.
//
//   dialing ──▶ connected: Events::connected, once
//      └─failed─▶ waiting: 50 ms, doubled up to 2 s, jittered ─▶ dialing
//
// Reactor thread. Owned by the object that wants the connection, and by its callbacks. It
// calls nothing after stop().
#pragma once

#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "node/base/clock.h"
#include "node/net/address.h"
#include "node/net/tcp_dial.h"
#include "protocol/random.h"

namespace quipu {

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  struct Events {
    std::function<void(asio::ip::tcp::socket)> connected;  // non-blocking
    std::function<void(std::string why)> failed;           // it will try again
  };

  // `names` outlives it.
  Dialer(NameLookup& names, Address address, Events events, Random random);

  // Connects now. When the connection was lost, it connects again after a wait, which is short
  // if the connection had lived for long.
  void start();
  void start_again(Duration lived);
  void stop();

 private:
  void dial();
  void wait_and_dial();
  void on_dialed(const asio::error_code& error, asio::ip::tcp::socket socket);

  const Address address_;
  const Events events_;
  Random random_;
  NameLookup& names_;
  std::shared_ptr<TcpDial> dial_;
  Timer timer_;  // until the next attempt
  Duration backoff_;
  bool stopped_ = false;
};

}  // namespace quipu
