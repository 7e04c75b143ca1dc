// client_sessions.h: all connections to the client port.
//
//   expected ─▶ accept() ─▶ ClientSession ──its first byte begins TLS──▶ Handshakes ─▶ another one
//       └─────▶ take_tls() ──its first byte begins TLS──▶ Handshakes ─▶ ClientSession
//
// Bounds: the number of connections, those in handshakes included, and the total size of their
// unfinished requests. client_session.h limits what each may leave unread. Reactor thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

#include "node/clients/client_session.h"
#include "node/clients/resp/resp_server.h"
#include "node/cores/core_port.h"
#include "node/net/rejected_connections.h"
#include "node/tls/handshakes.h"
#include "node/users/refusal_log.h"

namespace quipu {

class ClientSessions {
 public:
  // The number of the first session.
  static constexpr ClientId kFirst{1};

  ClientSessions(asio::io_context& io, CorePort& port, SessionLimits limits, RespSettings resp,
                 Random random);

  // From now on. Connections over a lower limit stay.
  void set_limits(SessionLimits limits, RespSettings resp);

  // Reactors share the numbers: this is number `self` of `all`.
  void share_numbers(std::size_t self, std::size_t all) {
    next_ = ClientId{raw(kFirst) + self};
    step_ = all;
  }

  // Any thread: expect() says that one more connection is on its way to accept(); taken() is the
  // number of connections, including those on their way.
  void expect() { ++taken_; }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  // Any thread: how many of them have not authenticated, and would make room for another one.
  [[nodiscard]] std::size_t strangers() const { return stranger_count_; }
  // The channel's socket is of an io_context that nothing runs, and was expected. Beyond the
  // limit, or without a core, the connection is rejected.
  void accept(Channel channel);
  // What encrypts the connections of clients. Before the first connection.
  struct Encryption {
    Handshakes& handshakes;
    asio::io_context& sockets;  // of accepted sockets
    Plaintext plaintext;
    std::shared_ptr<const TlsContext> context;
  };
  void encrypt_by(Encryption encryption);
  // For handshakes from now on, if connections are encrypted.
  void set_tls(std::shared_ptr<const TlsContext> context);
  // Any thread: takes an expected connection whose first byte begins TLS, if that has come. A
  // shorter way than accept(), for which there must be room. REQUIRES: encrypt_by() was called
  [[nodiscard]] bool take_tls(asio::ip::tcp::socket& socket);
  // From now on. Ends the connections whose user, or whose secret, is gone.
  void set_users(std::shared_ptr<const Users> users);
  // Called for refused authentications, and for TLS handshakes that failed (`why`), as often as
  // they are to be logged.
  using Refused = std::function<void(const std::string& address, std::uint64_t unlogged)>;
  using Failed =
      std::function<void(const std::string& address, std::uint64_t unlogged, const Status& why)>;
  void log_refused(Refused refused, Failed failed) {
    log_refused_ = std::move(refused);
    log_failed_ = std::move(failed);
  }
  // Ends these connections, in either protocol. Returns how many there were.
  std::size_t kill(const ClientFilter& which);
  // How CLIENT KILL reaches the connections of all reactors: see RespServer.
  void kill_by(RespServer::Kill kill) { resp_.kill = std::move(kill); }
  // For the asker. Does nothing if that session is gone.
  void reply(ClientId client, const Answer& answer);

  // Answers at once that wait for a commit up to this may be sent.
  void on_released(Instant now, Commit durable);
  // Call both at the end of each batch: this one writes the answers …
  void flush(Instant now);
  // … and this one reads on if the core accepts more again.
  void resume();

  [[nodiscard]] Figures figures() const { return resp_.own_figures(); }
  [[nodiscard]] const RequestFigures& requests() const { return shared_.context.meter.figures(); }

  // Called now and then: ends idle connections, and counts.
  void on_tick(Instant now);

  // Executes no new request. Requests under way are still answered. Then it informs each client, if
  // its protocol can say that a node closes. REQUIRES: within an event of the port.
  void begin_closing();
  // Some client may not have fetched its last reply.
  [[nodiscard]] bool ending() const;
  void close_all();

 private:
  [[nodiscard]] bool may_be_plain(const ClientSession& session) const;
  void begin_handshake(asio::ip::tcp::socket socket, bool received);
  [[nodiscard]] bool make_room();
  [[nodiscard]] SessionsShared::First on_first(ClientSession& session, char first);
  void on_handshake(Result<SecuredSocket> result, bool received, const asio::ip::address& from);
  void on_ready(ClientId client, ReadySockets::Interest ready);
  void on_wrong_secret(ClientId client);
  void set_stranger(ClientId client, bool stranger);
  [[nodiscard]] std::vector<std::shared_ptr<ClientSession>> all() const;
  void evict_largest();
  void count_connected() { shared_.context.figures.connected = sessions_.size(); }
  std::unique_ptr<ClientProtocol> speak(ClientSession& session, char first);

  std::atomic<std::size_t> taken_{0};
  SessionsShared shared_;
  RespServer resp_;
  RejectedConnections rejected_;
  std::mutex context_mutex_;                // for the context in
  std::optional<Encryption> encryption_;    // none: TLS is off
  std::atomic<std::size_t> handshakes_{0};  // under way, of connections to this port
  std::size_t room_asked_ = 0;              // of these, how many will end to make room
  Instant next_look_{};
  Refused log_refused_;
  Failed log_failed_;
  RefusalLog refusals_;
  RefusalLog failures_;  // of handshakes
  // Connections that have not authenticated, the oldest first. If there is no room, they go first.
  std::set<ClientId> strangers_;
  std::atomic<std::size_t> stranger_count_{0};
  std::unordered_map<ClientId, std::shared_ptr<ClientSession>>
      sessions_;  // its order reaches no effect
  ClientId next_ = kFirst;
  std::uint64_t step_ = 1;
};

}  // namespace quipu
