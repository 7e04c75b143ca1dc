// client_sessions.h: everybody who is connected to the client port.
//
// Bounds: so many connections, and what they hold of unfinished requests together;
// what each may leave unread is client_session.h's.
// Reactor thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <atomic>
#include <memory>
#include <unordered_map>

#include "node/clients/client_session.h"
#include "node/clients/resp/resp_server.h"
#include "node/cores/core_port.h"
#include "node/net/rejected_connections.h"

namespace quipu {

class ClientSessions {
 public:
  // Sessions are numbered from this on.
  static constexpr ClientId kFirst{1};

  ClientSessions(asio::io_context& io, CorePort& port, SessionLimits limits, RespSettings resp,
                 Random random);

  // Reactors share the numbers: of `all`, this is the `self`th.
  void share_numbers(std::size_t self, std::size_t all) {
    next_ = ClientId{raw(kFirst) + self};
    step_ = all;
  }

  // Any thread: one more is on its way to accept(). How many are, or are connected.
  void expect() { ++taken_; }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  // `socket` is non-blocking, of an io_context that nobody runs, and was expected. Beyond the
  // bound, or without a core, it is turned away.
  void accept(asio::ip::tcp::socket socket);
  // To whoever asked; nothing if that session is gone.
  void reply(ClientId client, const Answer& answer);

  // What was answered at once, for a commit up to this, may go.
  void on_released(Commit durable);
  // At the end of each batch: writes what was answered …
  void flush();
  // … and reads on if the core takes more again.
  void resume();

  [[nodiscard]] Figures figures() const { return resp_.own_figures(); }

  // Now and then: ends those who are idle, and counts.
  void on_tick(Instant now);

  // No new request is carried out; those under way are still answered.
  void begin_closing() { shared_.context.closing = true; }
  void close_all();

 private:
  void on_ready(ClientId client, ReadySockets::Interest ready);
  void turn_out_largest();
  void count_connected() { shared_.context.figures.connected = sessions_.size(); }
  std::unique_ptr<ClientProtocol> speak(ClientSession& session, char first);

  std::atomic<std::size_t> taken_{0};
  SessionsShared shared_;
  RespServer resp_;
  TurnedAway turned_away_;
  Instant next_look_{};
  std::unordered_map<ClientId, std::shared_ptr<ClientSession>>
      sessions_;  // no effect follows its order
  ClientId next_ = kFirst;
  std::uint64_t step_ = 1;
};

}  // namespace quipu
