// client_session.h: one connection on the client port: its bytes, in and out.
//
//   readable ─▶ all requests of one read ─▶ protocol ─▶ core ─▶ effects, once ─▶ replies
//
//   unread ──first byte: TLS begins, or plain text is refused──▶ leave(): the port has it
//      │
//   reading ──core paused, replies not fetched, or the protocol waits──▶ waiting ──▶ reading
//      └──the protocol ended, a request not finished in time, too much held──▶
//           ending: last reply sent, the rest of the input discarded ──▶ closed
//
// If a turn ends before everything was read, it goes on when other connections have had theirs.
//
// Invariant: any input affects only this connection. An idle session holds no buffer, and the
// buffers of all others are bounded together. Reactor thread. Owned by its pending callbacks
// and by ClientSessions.
#pragma once

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/gates/commit_gate.h"
#include "node/base/clock.h"
#include "node/base/sockets.h"
#include "node/clients/client_protocol.h"
#include "node/net/channel.h"
#include "node/net/connection_limits.h"
#include "node/net/ready_sockets.h"
#include "node/net/socket_output.h"

namespace quipu {

class ClientSession;

struct SessionLimits {
  std::size_t sessions = 0;
  // The buffers of all sessions together. Beyond this the largest is refused.
  std::size_t held = std::size_t{64} << 20;
  // Replies of all sessions that wait for the disk. Beyond this, no client is read.
  std::size_t gated = std::size_t{64} << 20;
  // For reading one request. The largest takes 30 s at 35 kB/s.
  std::chrono::milliseconds request{30'000};
  // Unread replies. Beyond the first limit the client is not read any more, and is disconnected
  // after this time. Beyond the last limit it is disconnected at once, since replies may come
  // long after their requests.
  std::size_t soft_output = std::size_t{1} << 20;
  std::chrono::milliseconds soft_output_time{10'000};
  std::size_t hard_output = std::size_t{8} << 20;
  std::chrono::milliseconds idle{0};  // without a request; 0: no limit
  // For connections over the limit: see rejected_connections.h.
  std::size_t rejected = kMaxRejected;
  std::chrono::milliseconds rejected_time{1'000};
};

// What all sessions share; outlives them.
struct SessionsShared {
  asio::io_context& io;
  ReadySockets sockets;
  ClientContext context;
  SessionLimits limits;
  // For the session that reads, while its last read has left nothing over.
  ReadBuffer buffer;
  // To flush at the end of the batch; may hold closed ones.
  std::vector<std::shared_ptr<ClientSession>> unflushed;
  // Sessions that keep something back.
  CommitGate<std::shared_ptr<ClientSession>> holding;
  Commit released{};  // up to here, nothing needs to be kept back
  // To read again once the core is no longer paused.
  std::vector<std::shared_ptr<ClientSession>> paused;
  std::function<void(ClientId)> on_closed;
  std::size_t held = 0;   // by all sessions
  std::size_t gated = 0;  // bytes of all sessions' replies that wait for a commit
  std::function<void()> on_held_too_much;
  // What to do with a connection over which nothing was read, by its first byte.
  enum class First { read, leave };
  // Null: each is read. `leave`: leave() was called.
  std::function<First(ClientSession&, char)> on_first{};
  // By the first byte that a client sent.
  std::function<std::unique_ptr<ClientProtocol>(ClientSession&, char)> speak;
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  // The socket is of an io_context that nothing runs (ready_sockets.h).
  ClientSession(Channel channel, ClientId id, SessionsShared& shared);

  // The next turn: left-over requests, or a read, unless something prevents it.
  void go_on();
  void on_ready(ReadySockets::Interest ready);
  void on_core_resumed();
  void reply(const Answer& answer);
  // Replies that wait for a commit up to this may be sent.
  void on_released(Commit durable);
  // Writes what the socket accepts. Disconnects a client that leaves too much unread.
  void flush();
  // Says why, waits a little for that to be fetched, and closes.
  void evict(const Status& why);
  // The node closes: tells the client once no answer is owed, in the same way.
  void part();
  // There are newer users: ends the connection if its user is gone.
  void renew_access();
  // It must authenticate first.
  [[nodiscard]] bool stranger() const;
  // Empty: not authenticated.
  [[nodiscard]] std::string user() const {
    return protocol_ == nullptr ? std::string() : protocol_->access().permit().user();
  }
  // It has had its last reply, and may not have fetched that.
  [[nodiscard]] bool ending() const { return ending_ && !closed_; }
  // No request was finished or answered for this long, and no answer is owed.
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
  // "host:port" of the client, and of this node. Empty: the client has gone.
  [[nodiscard]] std::string remote() const;
  [[nodiscard]] std::string local() const;
  [[nodiscard]] int descriptor() const { return watched_.descriptor; }
  // The client's.
  [[nodiscard]] asio::ip::address address() const { return remote_address(channel_.socket()); }
  // Unread answers are lost. shared.on_closed is called.
  void close();
  // The same, but the socket is the caller's. REQUIRES: not closed
  [[nodiscard]] asio::ip::tcp::socket leave();

 private:
  [[nodiscard]] bool must_wait();
  [[nodiscard]] bool leaves();
  void watch(ReadySockets::Interest interest);
  void on_readable();
  void take_turn(ReadBuffer& in);
  void take_requests(ReadBuffer& in);
  void keep_left_over(ReadBuffer& in);
  void hold(std::size_t bytes);
  void bound_stranger();
  void watch_request();
  void on_request_late();
  void on_said(std::uint64_t from);
  void end();
  void linger();
  void count_gated();
  void discard();
  void mark_unflushed();
  void watch_output();

  Channel channel_;
  ReadySockets::Socket watched_;  // by the session's id
  SessionsShared& shared_;
  std::unique_ptr<ClientProtocol> protocol_;  // null: nothing came yet
  std::unique_ptr<ReadBuffer> left_over_;     // requests not handled yet, or a part of one
  bool turn_over_ = false;                    // … which may be whole
  std::size_t held_ = 0;                      // of shared_.held: left_over_'s
  const Instant opened_ = NodeClock::now();
  Instant request_since_ = opened_;      // the start of its first unfinished request
  Instant answered_{};                   // the time of the core's last answer
  std::unique_ptr<Timer> request_late_;  // set: on_request_late() will check
  SocketOutput output_;
  std::unique_ptr<Timer> output_late_;  // set: too much is unread; disconnects when it fires
  bool ending_ = false;                 // its last reply is in the output
  std::unique_ptr<Timer> linger_;       // set: the last reply may be sent; closes when it fires
  std::size_t gated_ = 0;               // of shared_.gated: bytes that output_ may not send yet
  bool going_on_ = false;               // a callback will go on, or on_ready()
  bool core_paused_ = false;            // in shared_.paused
  bool unflushed_ = false;
  bool closed_ = false;
};

}  // namespace quipu
