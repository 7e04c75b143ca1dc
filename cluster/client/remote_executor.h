// remote_executor.h: the sessions that a client has at one executor, and how that
// behaves.
//
// A change waits in its executor's queue until a session has room, and only then
// gets a token. Sessions are opened one at a time per executor, when all are full.
// Those of an executor that fell silent are retired: what was sent stays bound to
// them, but the next change has to open a new one first, which doubles as a probe
// that binds nothing.
#pragma once

#include <map>
#include <optional>

#include "cluster/client/change.h"
#include "cluster/retry/token_window.h"
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
  // A number in a session with room; nothing if none has any.
  [[nodiscard]] std::optional<Token> take();
  void settle(const Token& token);
  // What a retry says of its session now.
  [[nodiscard]] std::uint64_t floor(const Token& token) const;
  void add_session(Serial serial);
  void retire(Serial serial);
  void retire_all();
  // The open_session that is on its way, and since when.
  std::uint64_t opening = 0;
  Instant opening_since{};

  // ---- behaviour ----
  void on_sent(Instant now);
  void on_answered(Instant now);
  void on_given_up() { --owed_; }
  void on_lost_connection();
  // When it became silent although it owes something.
  [[nodiscard]] Instant quiet_since() const;
  // Nothing here is worth keeping.
  [[nodiscard]] bool idle() const { return queue_.empty() && sessions_.empty() && opening == 0; }

 private:
  struct Session {
    TokenWindow window;
    bool retired = false;
  };
  void drop_if_done(std::map<Serial, Session>::iterator at);

  StoreId store_;
  ChangeList queue_;
  std::map<Serial, Session> sessions_;
  Serial last_{};  // where the last number came from
  std::size_t owed_ = 0;
  Instant quiet_since_{};
};

}  // namespace quipu
