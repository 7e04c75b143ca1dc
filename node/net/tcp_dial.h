// tcp_dial.h: one attempt to connect to an address.
//
//   looking its name up ─▶ connecting, to one of its addresses after the other ─▶ done
//
// Invariant: `done` is called once, from the loop, and not after cancel(). The loop's
// thread. Owned by the object that wants the connection, and by its pending callbacks.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/base/clock.h"
#include "node/net/address.h"
#include "node/net/name_lookup.h"

namespace quipu {

// Why a dial failed, for people: "connection refused", "there is no host of this name".
[[nodiscard]] std::string why_not_connected(const asio::error_code& error);

class TcpDial : public std::enable_shared_from_this<TcpDial> {
 public:
  // Without an error the socket is connected, non-blocking and closed on exec.
  using Done = std::function<void(const asio::error_code&, asio::ip::tcp::socket)>;

  TcpDial(NameLookup& names, Done done);

  // `most` limits the connecting. The look-up takes its own time.
  void start(const Address& address, Duration most = kLongestTimeout);
  void cancel();

 private:
  void connect(const std::vector<asio::ip::address>& hosts, std::uint16_t port);
  void try_next(const asio::error_code& last);
  [[nodiscard]] asio::error_code set_up();
  void end(const asio::error_code& error);

  NameLookup& names_;
  Done done_;  // null: ended
  // Set while the name is looked up: the loop cannot see that, and must not end.
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> looking_up_;
  Duration most_{};
  Timer timer_;
  asio::ip::tcp::socket socket_;
  std::vector<asio::ip::tcp::endpoint> endpoints_;
  std::size_t next_ = 0;
};

}  // namespace quipu
