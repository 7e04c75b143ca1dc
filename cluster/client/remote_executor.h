// remote_executor.h: a client's sessions at one executor, and the executor's behaviour.
//
// A change waits in its executor's queue until a session has room. Only then does it get a
// token. When all sessions are full, one new session at a time is opened per executor. If an
// executor falls silent, its sessions are retired: sent changes stay bound to them, but the
// next change must first open a new session. That is also a probe which binds nothing.
#pragma once

#include <map>
#include <optional>

#include "cluster/client/change.h"
#include "cluster/retry/token_window.h"
#include "protocol/check.h"
#include "protocol/instant.h"

namespace quipu {

class RemoteExecutor {
 public:
  explicit RemoteExecutor(StoreId store) : store_(store) {}
  RemoteExecutor(const RemoteExecutor&) = delete;
  RemoteExecutor& operator=(const RemoteExecutor&) = delete;

  [[nodiscard]] StoreId store() const { return store_; }
  [[nodiscard]] ChangeList& queue() { return queue_; }

  // ---- sessions ----
  // A number in a session with room. Nothing if no session has room.
  [[nodiscard]] std::optional<Token> take();
  void settle(const Token& token);
  // The session's token for a retry now.
  [[nodiscard]] std::uint64_t floor(const Token& token) const;
  void add_session(Serial serial);
  void retire(Serial serial);
  void retire_all();
  // The open_session under way, and since when.
  std::uint64_t opening = 0;
  Instant opening_since{};

  // ---- behaviour ----
  void on_sent(Instant now);
  void on_answered(Instant now);
  void on_given_up() {
    QUIPU_CHECK(owed_ > 0, "only what was sent is given up", store_);
    --owed_;
  }
  void on_lost_connection();
  // When it became silent although it owes an answer.
  [[nodiscard]] Instant quiet_since() const;
  // Nothing here is worth keeping.
  [[nodiscard]] bool idle() const {
    return queue_.empty() && sessions_.empty() && opening == 0 && owed_ == 0;
  }

 private:
  struct Session {
    TokenWindow window;
    bool retired = false;
  };
  void drop_if_done(std::map<Serial, Session>::iterator at);

  StoreId store_;
  ChangeList queue_;
  std::map<Serial, Session> sessions_;
  Serial last_{};  // the session of the last number
  std::size_t owed_ = 0;
  Instant quiet_since_{};
};

}  // namespace quipu
