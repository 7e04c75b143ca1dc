// seal_policy.h: when to seal the open record, and which records the store has not synced
// yet.
//
// The open record is sealed when the store is idle, so that it holds everything that came
// while the last one was written: load makes records larger, not more. A state is sealed
// before it goes to a peer. Changes of clients at `memory` have no waiting answer, and take no
// sync of their own while they are few: they share a record that an answer waits for, a record
// for a peer's states, or that of the next gossip.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "storage/executor.h"

namespace quipu {

class SealPolicy {
 public:
  // Must outlive it. Everything that it sealed so far is durable.
  explicit SealPolicy(Executor& executor) : executor_(executor), durable_(executor.sealed()) {}

  // Seals what is open now as soon as the store is idle, even if no answer waits for it.
  void hurry() { hurried_ = true; }
  // Always does so from now on, and no checkpoint begins.
  void begin_closing() { closing_ = true; }

  // `waited_for`: an answer waits for what is open.
  void seal_if_due(bool waited_for);
  // Call it at the end of an event, after its records were taken.
  void finish_event() {
    if (!executor_.has_open()) hurried_ = false;
  }

  // ---- records on their way to the disk ----
  void on_record(const Sealed& sealed);
  void on_durable(Commit commit);
  [[nodiscard]] Commit durable() const { return durable_; }
  [[nodiscard]] std::size_t unsynced_bytes() const { return unsynced_bytes_; }
  // Given to the store so far, and their bytes.
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t record_bytes() const { return record_bytes_; }
  [[nodiscard]] bool all_durable() const { return executor_.sealed() <= durable_; }
  // No record is on its way to the disk. (Some may be sealed and not taken yet: records that
  // are sealed now go with them.)
  [[nodiscard]] bool store_is_idle() const { return unsynced_.empty(); }

 private:
  [[nodiscard]] bool may_wait(bool waited_for) const;

  Executor& executor_;
  Commit durable_;
  bool hurried_ = true;
  bool closing_ = false;
  std::deque<std::pair<Commit, std::size_t>> unsynced_;  // bytes of each
  std::size_t unsynced_bytes_ = 0;
  std::uint64_t records_ = 0, record_bytes_ = 0;
};

}  // namespace quipu
