#include "cluster/client/remote_executor.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {

std::optional<Token> RemoteExecutor::take() {
  const auto last = sessions_.find(last_);
  if (last != sessions_.end() && !last->second.retired && !last->second.window.full()) {
    return last->second.window.take();
  }
  for (auto& [serial, session] : sessions_) {
    if (session.retired || session.window.full()) continue;
    last_ = serial;
    return session.window.take();
  }
  return std::nullopt;
}

void RemoteExecutor::settle(const Token& token) {
  const auto at = sessions_.find(token.serial);
  if (at == sessions_.end()) return;
  at->second.window.settle(token.number);
  drop_if_done(at);
}

std::uint64_t RemoteExecutor::floor(const Token& token) const {
  const auto at = sessions_.find(token.serial);
  return at == sessions_.end() ? token.floor : at->second.window.floor();
}

void RemoteExecutor::add_session(Serial serial) {
  QUIPU_CHECK(serial != Serial{}, "a session that was opened has a serial", store_);
  sessions_.try_emplace(serial, Session{TokenWindow(store_, serial)});
}

void RemoteExecutor::retire(Serial serial) {
  const auto at = sessions_.find(serial);
  if (at == sessions_.end()) return;
  at->second.retired = true;
  drop_if_done(at);
}

void RemoteExecutor::retire_all() {
  for (auto& [serial, session] : sessions_) session.retired = true;
  std::erase_if(sessions_, [](const auto& entry) { return entry.second.window.idle(); });
}

void RemoteExecutor::drop_if_done(std::map<Serial, Session>::iterator at) {
  if (at->second.retired && at->second.window.idle()) sessions_.erase(at);
}

void RemoteExecutor::on_sent(Instant now) {
  if (owed_++ == 0) quiet_since_ = now;
}

void RemoteExecutor::on_answered(Instant now) {
  QUIPU_CHECK(owed_ > 0, "an executor answers what was sent to it", store_);
  --owed_;
  quiet_since_ = now;
}

void RemoteExecutor::on_lost_connection() {
  owed_ = 0;
  opening = 0;
}

Instant RemoteExecutor::quiet_since() const {
  Instant since = owed_ == 0 ? kNever : quiet_since_;
  if (opening != 0) since = std::min(since, opening_since);
  return since;
}

}  // namespace quipu
