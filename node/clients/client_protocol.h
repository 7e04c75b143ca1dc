// client_protocol.h: what a connection on the client port speaks; its first byte tells.
//
//   bytes ─▶ ClientSession ─▶ ClientProtocol ─▶ core      NativeProtocol, or
//   bytes ◀─ ClientSession ◀─ ClientProtocol ◀─ answers   RespConnection
//
// The session moves bytes and bounds them; a protocol gives them their meaning, and
// holds no more of a request than its reply needs. Reactor thread.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "node/clients/client_context.h"
#include "protocol/read_buffer.h"

namespace quipu {

class ClientProtocol {
 public:
  enum class State {
    reading,    // all whole requests were taken
    turn_over,  // … or not: the others had better have theirs first
    waiting,    // … or not: some answer must come before
    ended,      // its last words are written
    broken,     // whoever this is, nothing more is said
  };

  virtual ~ClientProtocol() = default;

  // Takes whole requests out of `in`, which may borrow it until the call returns, gives
  // them to the core, and appends the replies that are known.
  virtual void take(ReadBuffer& in, std::string& out) = 0;
  // Of the core, to this connection.
  virtual void reply(const Answer& answer, std::string& out) = 0;
  // Last words: this connection is to be closed.
  virtual void refuse(const Status& why, std::string& out) = 0;
  [[nodiscard]] virtual State state() const = 0;
  // Whether a request still waits for the core's answer.
  [[nodiscard]] virtual bool owes() const = 0;
  // The connection is gone; this may live on for a while, and what all share may not.
  virtual void on_closed() {}

  // What was appended since the last call may be sent once this is durable. 0: now.
  [[nodiscard]] Commit take_after() { return std::exchange(after_, Commit{}); }

 protected:
  void wait_for(Commit after) { after_ = std::max(after_, after); }

 private:
  Commit after_{};
};

}  // namespace quipu
