// client_session.h: one connection on the client port: its bytes, in and out.
//
//   readable ─▶ all requests of one read ─▶ protocol ─▶ core ─▶ effects, once ─▶ replies
//
//   reading ──core paused, replies not fetched, the protocol says so──▶ waiting ──▶ reading
//      └──the protocol ended, a request not finished in time, too much held──▶
//           ending: last words sent, the rest read away ──▶ closed
//
// A turn that is over before all was read goes on when others have had theirs.
//
// Invariant: whatever comes in, only this connection suffers for it. An idle
// session holds no buffer, and what all others hold is bounded. Reactor thread; owned by its
// pending callbacks and by ClientSessions.
#pragma once

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "node/base/clock.h"
#include "node/clients/client_protocol.h"
#include "node/net/connection_limits.h"
#include "node/net/ready_sockets.h"
#include "node/net/socket_output.h"

namespace quipu {

class ClientSession;

struct SessionLimits {
  std::size_t sessions = 0;
  // Of all sessions' buffers together. Beyond it the largest is refused.
  std::size_t held = std::size_t{64} << 20;
  // Of replies that wait for the disk, of all sessions: beyond, nobody is read.
  std::size_t gated = std::size_t{64} << 20;
  // For one request, while it is read. The largest takes 30 s at 35 kB/s.
  std::chrono::milliseconds request{30'000};
  // Of replies that nobody fetches: beyond the first the client is read no more, and
  // dropped after so long; beyond the last (they may come long after their requests)
  // it is dropped at once.
  std::size_t soft_output = std::size_t{1} << 20;
  std::chrono::milliseconds soft_output_time{10'000};
  std::size_t hard_output = std::size_t{8} << 20;
  std::chrono::milliseconds idle{0};  // without a request; 0: for ever
  // Of those beyond: see turned_away.h.
  std::size_t turned_away = kMaxTurnedAway;
  std::chrono::milliseconds turned_away_time{1'000};
};

// What all sessions share; outlives them.
struct SessionsShared {
  asio::io_context& io;
  ReadySockets sockets;
  ClientContext context;
  const SessionLimits limits;
  // For whoever reads, while nothing is left over from its last read.
  ReadBuffer buffer;
  // To be flushed at the end of the batch; may hold closed ones.
  std::vector<std::shared_ptr<ClientSession>> unflushed;
  // Who keeps something back, and for which commit. One behind a later one goes with it.
  std::deque<std::pair<Commit, std::shared_ptr<ClientSession>>> holding;
  Commit released{};  // up to here, nothing needs to be kept back
  // To read again once the core is no longer paused.
  std::vector<std::shared_ptr<ClientSession>> paused;
  std::function<void(ClientId)> on_closed;
  std::size_t held = 0;   // by all sessions
  std::size_t gated = 0;  // bytes of replies that wait for a commit, of all sessions
  std::function<void()> on_held_too_much;
  // By the first byte that a client sent.
  std::function<std::unique_ptr<ClientProtocol>(ClientSession&, char)> speak;
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  // `socket` is non-blocking, of an io_context that nobody runs (ready_sockets.h).
  ClientSession(asio::ip::tcp::socket socket, ClientId id, SessionsShared& shared);

  // The next turn: requests left over, or a read, unless something speaks against it.
  void go_on();
  void on_ready(ReadySockets::Interest ready);
  void on_core_resumed();
  void reply(const Answer& answer);
  // What it keeps back for a commit up to this may go.
  void on_released(Commit durable);
  // Writes what the socket takes; drops a client that leaves too much unread.
  void flush();
  // Says why, waits a little for that to be fetched, and closes. Then: port.finish().
  void turn_out(const Status& why);
  // No request was finished or answered for so long, and it is owed nothing.
  [[nodiscard]] bool idle_since(Instant then) const {
    const bool owed = output_.waiting() > 0 || (protocol_ != nullptr && protocol_->owes());
    return std::max(request_since_, answered_) < then && !owed && !ending_;
  }
  [[nodiscard]] std::size_t held() const { return held_; }
  // Bytes of replies.
  [[nodiscard]] std::size_t unfetched() const { return output_.waiting(); }
  // Bytes of memory for replies, sent or not.
  [[nodiscard]] std::size_t reply_room() const { return output_.room(); }
  [[nodiscard]] Instant opened() const { return opened_; }
  [[nodiscard]] ClientId id() const { return watched_.client; }
  // "host:port" of the client, and of us; empty: it has gone.
  [[nodiscard]] std::string remote() const;
  [[nodiscard]] std::string local() const;
  [[nodiscard]] int descriptor() const { return watched_.descriptor; }
  // Answers that nobody fetched are lost; shared.on_closed is called.
  void close();

 private:
  [[nodiscard]] bool must_wait();
  void watch(ReadySockets::Interest interest);
  void on_readable();
  void take_turn(ReadBuffer& in);
  void take_requests(ReadBuffer& in);
  void keep_left_over(ReadBuffer& in);
  void hold(std::size_t bytes);
  void watch_request();
  void on_request_late();
  void on_said(std::uint64_t from);
  void end();
  void linger();
  void count_gated();
  void discard();
  void mark_unflushed();
  void watch_output();

  asio::ip::tcp::socket socket_;
  ReadySockets::Socket watched_;  // by the session's id
  SessionsShared& shared_;
  std::unique_ptr<ClientProtocol> protocol_;  // null: nothing came yet
  std::unique_ptr<ReadBuffer> left_over_;     // requests not handled yet, or a part of one
  bool turn_over_ = false;                    // … they may be whole
  std::size_t held_ = 0;                      // of shared_.held: left_over_'s
  const Instant opened_ = NodeClock::now();
  Instant request_since_ = opened_;      // its first request is read since then
  Instant answered_{};                   // the core's last answer came
  std::unique_ptr<Timer> request_late_;  // set: on_request_late() will look
  SocketOutput output_;
  std::unique_ptr<Timer> output_late_;  // set: too much is unfetched; dropped when it fires
  bool ending_ = false;                 // its last words are in the output
  std::unique_ptr<Timer> linger_;       // set: they may be sent; closed when it fires
  std::size_t gated_ = 0;               // of shared_.gated: what output_ may not send yet
  bool going_on_ = false;               // a callback will, or on_ready()
  bool core_paused_ = false;            // in shared_.paused
  bool unflushed_ = false;
  bool closed_ = false;
};

}  // namespace quipu
