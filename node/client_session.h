// client_session.h: one connection on the client port.
//
//   readable ─▶ all frames of one read ─▶ core (ops together) ─▶ effects, once ─▶ replies
//
//   reading ──core paused, or answers not fetched──▶ waiting ──▶ reading
//      └──bytes that are no request, a frame not finished in time, too much held──▶
//           refused: Refusal sent, the rest read away ──▶ closed
//
// A question whose answer may be large (list, config, status) ends a turn: the
// frames behind it wait until others had theirs.
//
// Invariant: whatever comes in, only this connection suffers for it. An idle
// session holds no buffer, and what all others hold is bounded. Reactor thread; owned by its
// pending callbacks and by ClientSessions.
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

struct SessionLimits {
  std::size_t sessions = 0;
  // Of all sessions' buffers together. Beyond it the largest is refused.
  std::size_t held = std::size_t{64} << 20;
  // For one frame, while it is read. The largest takes as long at 35 kB/s.
  std::chrono::milliseconds frame{30'000};
};

// What all sessions share; outlives them.
struct SessionsShared {
  CorePort& port;
  const SessionLimits limits;
  // For whoever reads, while nothing is left over from its last read.
  FrameDecoder decoder;
  std::vector<Op> ops;
  // To be flushed at the end of the batch; may hold closed ones.
  std::vector<std::shared_ptr<ClientSession>> unflushed;
  // To read again once the core is no longer paused.
  std::vector<std::shared_ptr<ClientSession>> paused;
  std::function<void(ClientId)> on_closed;
  std::size_t held = 0;  // by all sessions
  std::function<void()> on_held_too_much;
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
  // Says why, waits a little for that to be fetched, and closes. Then: port.finish().
  void turn_out(const Status& why);
  [[nodiscard]] std::size_t held() const { return held_; }
  // Answers that nobody fetched are lost; shared.on_closed is called.
  void close();

 private:
  [[nodiscard]] bool must_wait();
  void on_readable();
  void take_turn(FrameDecoder& in);
  void handle_frames(FrameDecoder& in);
  void keep_left_over(FrameDecoder& in);
  void hold(std::size_t bytes);
  void watch_frame();
  void on_frame_late();
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
  std::size_t held_ = 0;                     // of shared_.held: left_over_'s
  Instant frame_since_{};                    // its first frame is read since then
  std::unique_ptr<Timer> frame_late_;        // set: on_frame_late() will look
  SocketOutput output_;
  std::unique_ptr<Timer> refused_;  // set: Refusal sent; closed when it fires
  bool going_on_ = false;           // a callback will
  bool core_paused_ = false;        // in shared_.paused
  bool writing_ = false;
  bool unflushed_ = false;
  bool closed_ = false;
};

}  // namespace quipu
