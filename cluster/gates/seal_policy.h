// seal_policy.h: when the open record is sealed, and which records the store has not
// synced yet.
//
// The open record is sealed when the store is idle, so that it holds all that came while
// the last one was written: load makes records larger, not more. Whatever must show state
// to a peer seals before. What clients change at `memory`, for which no answer waits,
// takes no sync of its own while it is little: it goes along with a record that something
// waits for, with what a peer brings, or with the next gossip.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "storage/executor.h"

namespace quipu {

class SealPolicy {
 public:
  // Must outlive it. All that it sealed so far is durable.
  explicit SealPolicy(Executor& executor) : executor_(executor), durable_(executor.sealed()) {}

  // What is open now is sealed as soon as the store is idle, whether anything waits for it
  // or not.
  void hurry() { hurried_ = true; }
  // From now on always, and no checkpoint begins.
  void begin_closing() { closing_ = true; }

  // `waited_for`: an answer waits for what is open.
  void seal_if_due(bool waited_for);
  // At the end of an event, when its records were taken.
  void finish_event() {
    if (!executor_.has_open()) hurried_ = false;
  }

  // ---- records on their way to the disk ----
  void on_record(const Sealed& sealed);
  void on_durable(Commit commit);
  [[nodiscard]] Commit durable() const { return durable_; }
  [[nodiscard]] std::size_t unsynced_bytes() const { return unsynced_bytes_; }
  [[nodiscard]] bool all_durable() const { return executor_.sealed() <= durable_; }
  // No record is on its way to the disk. (Some may be sealed and not taken yet: what is
  // sealed now goes with them.)
  [[nodiscard]] bool store_is_idle() const { return unsynced_.empty(); }

 private:
  [[nodiscard]] bool may_wait(bool waited_for) const;

  Executor& executor_;
  Commit durable_;
  bool hurried_ = true;
  bool closing_ = false;
  std::deque<std::pair<Commit, std::size_t>> unsynced_;  // bytes of each
  std::size_t unsynced_bytes_ = 0;
};

}  // namespace quipu
