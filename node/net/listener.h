// listener.h: a port that others connect to.
//
//   bind ──▶ bound ──start──▶ accepting ──close──▶ closed
//
// Bound early, so that a port in use is found before anything else begins. Listening late, so
// that a client of a recovering node is refused at once, and goes to another node.
//
// Accepted sockets are non-blocking, send without delay (TCP_NODELAY), and find out that the other
// side is gone (SO_KEEPALIVE). Reactor thread, or before it runs.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>

#include "node/base/clock.h"
#include "node/net/address.h"

namespace quipu {

class Listener {
 public:
  using OnAccept = std::function<void(asio::ip::tcp::socket)>;
  // The io_context of the next socket, which outlives that of the listener. The socket is still
  // passed on in the listener's thread.
  using Choose = std::function<asio::io_context&()>;

  explicit Listener(asio::io_context& io) : io_(&io), acceptor_(io), retry_(io) {}

  // cannot_start: the text names the address and what to do. Port 0 takes a free one.
  [[nodiscard]] Status bind(const Address& address);
  // Accepts in the thread that runs `io`, and only connections that have sent something, or
  // nothing for a second (TCP_DEFER_ACCEPT). close() waits for that thread, which must not wait for
  // this one. REQUIRES: bound, and not started; `io` runs until after close()
  [[nodiscard]] Status accept_in(asio::io_context& io);
  // REQUIRES: bound; outlives the io_context's run.
  [[nodiscard]] Status start(OnAccept on_accept, Choose choose = nullptr);
  // Begins to listen, and gives the socket to the caller, who accepts and closes. REQUIRES: bound
  [[nodiscard]] Result<int> hand_over();
  void close();

  [[nodiscard]] bool bound() const { return acceptor_.is_open(); }
  // The bound address, with the port filled in.
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  void accept();
  void retry_later();
  void close_here();

  asio::io_context* io_;  // that accepts
  bool elsewhere_ = false;
  asio::ip::tcp::acceptor acceptor_;
  Timer retry_;
  Address address_;
  OnAccept on_accept_;
  Choose choose_;
};

}  // namespace quipu
