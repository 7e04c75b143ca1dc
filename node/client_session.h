// client_session.h: one connection on the client port.
//
//   readable ─▶ all frames of one read ─▶ core (ops together) ─▶ effects, once ─▶ replies
//
//   reading ──core paused, or answers not fetched──▶ waiting ──▶ reading
//      └──bytes that are no request──▶ refused: Refusal sent, the rest read away ──▶ closed
//
// A question whose answer may be large (list, config, status) ends a turn: the
// frames behind it wait until others had theirs.
//
// Invariant: whatever comes in, only this connection suffers for it. An idle
// session holds no buffer. Reactor thread; owned by its pending callbacks and by
// ClientSessions.
#pragma once

#include <asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "node/clock.h"
#include "node/core_port.h"
#include "node/socket_output.h"
#include "protocol/frame.h"

namespace quipu {

class ClientSession;

// What all sessions share; outlives them.
struct SessionsShared {
  CorePort& port;
  // For whoever reads, while nothing is left over from its last read.
  FrameDecoder decoder;
  std::vector<Op> ops;
  // To be flushed at the end of the batch; may hold closed ones.
  std::vector<std::shared_ptr<ClientSession>> unflushed;
  // To read again once the core is no longer paused.
  std::vector<std::shared_ptr<ClientSession>> paused;
  std::function<void(ClientId)> on_closed;
  // Answer everything with `unavailable`: whoever is told that nothing happened can
  // go elsewhere at once, while bytes left unread would leave it in doubt.
  bool closing = false;
};

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  // `socket` is non-blocking.
  ClientSession(asio::ip::tcp::socket socket, ClientId id, SessionsShared& shared);

  // The next turn: frames left over, or a read, unless something speaks against it.
  void go_on();
  void on_core_resumed();
  void reply(const Answer& answer);
  // Writes what the socket takes; drops a client that leaves too much unread.
  void flush();
  // Answers that nobody fetched are lost; shared.on_closed is called.
  void close();

 private:
  [[nodiscard]] bool must_wait();
  void on_readable();
  void take_turn(FrameDecoder& in);
  void handle_frames(FrameDecoder& in);
  void handle(const FrameDecoder::Frame& frame);
  template <class Request, class Ask>
  void answer(const Result<Request>& request, Ask ask);
  void give_ops();
  void refuse(const Status& why);
  void discard();
  void mark_unflushed();
  void wait_writable();

  asio::ip::tcp::socket socket_;
  const ClientId id_;
  SessionsShared& shared_;
  std::unique_ptr<FrameDecoder> left_over_;  // frames not handled yet, or a part of one
  bool turn_over_ = false;                   // … they may be whole
  SocketOutput output_;
  std::unique_ptr<Timer> refused_;  // set: Refusal sent; closed when it fires
  bool going_on_ = false;           // a callback will
  bool core_paused_ = false;        // in shared_.paused
  bool writing_ = false;
  bool unflushed_ = false;
  bool closed_ = false;
};

}  // namespace quipu
