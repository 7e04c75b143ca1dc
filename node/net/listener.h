// listener.h: a port that others connect to.
//
//   bind ──▶ bound ──start──▶ accepting ──close──▶ closed
//
// Bound early, so that a port in use is found before anything else begins. Listening late, so
// that a client of a recovering node is refused at once, and goes to another node. Reactor
// thread, or before it runs.
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
  // The io_context of the next socket. The socket is still passed on in the listener's thread.
  using Choose = std::function<asio::io_context&()>;

  explicit Listener(asio::io_context& io) : io_(io), acceptor_(io), retry_(io) {}

  // cannot_start: the text names the address and what to do. Port 0 takes a free one.
  [[nodiscard]] Status bind(const Address& address);
  // Accepted sockets are non-blocking. REQUIRES: bound; outlives the io_context's run.
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

  asio::io_context& io_;
  asio::ip::tcp::acceptor acceptor_;
  Timer retry_;
  Address address_;
  OnAccept on_accept_;
  Choose choose_;
};

}  // namespace quipu
