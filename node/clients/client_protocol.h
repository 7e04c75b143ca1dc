// client_protocol.h: the protocol of a connection on the client port. Its first byte shows it.
//
//   bytes ─▶ ClientSession ─▶ ClientProtocol ─▶ core      NativeProtocol, or
//   bytes ◀─ ClientSession ◀─ ClientProtocol ◀─ answers   RespConnection
//
// The session moves bytes and bounds them. A protocol interprets them, and holds no more of a
// request than its reply needs. Reactor thread.
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
    turn_over,  // … or not: yielded to other connections
    waiting,    // … or not: blocked on a reply
    ended,      // its last reply is written
    broken,     // protocol violation: close silently
  };

  ClientProtocol(ClientId client, AccessShared& shared) : access_(client, shared) {}
  virtual ~ClientProtocol() = default;

  // Takes whole requests out of `in`, which it may borrow until the call returns, gives them to
  // the core, and appends the replies that are known.
  virtual void take(ReadBuffer& in, std::string& out) = 0;
  // An answer of the core for this connection.
  virtual void reply(const Answer& answer, std::string& out) = 0;
  [[nodiscard]] virtual Protocol protocol() const = 0;
  // Writes the last reply: this connection will be closed.
  virtual void refuse(const Status& why, std::string& out) = 0;
  // The node is closing, no answer is owed, and the protocol can say so: refuse() may be called
  // now.
  [[nodiscard]] virtual bool parts() const { return false; }
  [[nodiscard]] virtual State state() const = 0;
  // Whether a request still waits for the core's answer.
  [[nodiscard]] virtual bool owes() const = 0;
  // Bytes of requests that it keeps beyond take(). They count towards the limit of unfinished ones.
  [[nodiscard]] virtual std::size_t kept() const { return 0; }
  [[nodiscard]] const ClientAccess& access() const { return access_; }
  // There are newer users. False: the client's user, or the secret that it used, is gone.
  [[nodiscard]] virtual bool renew_access() { return access_.renew(); }
  // The connection is gone. This object may live on for a while; shared objects may not.
  virtual void on_closed() {}

  // The commit that the output since the last call must wait for. 0: none.
  [[nodiscard]] Commit take_after() { return std::exchange(after_, Commit{}); }

 protected:
  void wait_for(Commit after) { after_ = std::max(after_, after); }

  ClientAccess access_;

 private:
  Commit after_{};
};

}  // namespace quipu
