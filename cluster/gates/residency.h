// residency.h: what must be read back from the store before it can be used, and what is
// evicted to make room.
//
//   event that names a shard in the store alone ──▶ held ──LoadRequest──▶ shell
//                            again ◀── restored ◀──── Loaded ◀──────────────┘
//
// One load is under way at a time. Requests meanwhile go with the next.
//
// Why a load never brings anything stale: a shard is evicted only if it was durable in the
// store when the current load was requested.
// Why everything held gets its turn: an event that is held again requests everything that it
// names, and uses it in the very call that restores it.
// Why ops on one shard keep their order: an op on a shard of the current load waits for that
// load, behind all earlier ops on the shard, and they run before any other code can find the
// shard in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "cluster/gates/effects.h"
#include "cluster/gates/peer_traits.h"
#include "protocol/instant.h"

namespace quipu {

class Residency {
 public:
  // `executor` must outlive it. Loads are numbered from `first_number` on, since a load that an
  // earlier core requested may still arrive.
  Residency(Executor& executor, std::uint64_t first_number)
      : executor_(executor), number_(first_number) {}

  // ---- what an event uses ----
  // Whether all of it is in memory.
  [[nodiscard]] bool resident(const Needs& needs) const;
  // Runs `then` in the call that brings the shards. `again`: it has been held before. `from`:
  // it is dropped together with that member's link.
  enum class Turn { first, again };
  using Then = std::function<void(Instant now)>;
  void hold(Needs needs, Turn turn, std::optional<MemberIndex> from, Then then);
  void on_link_lost(MemberIndex member);

  // ---- events ----
  // Restores, and runs what was held for it.
  void on_loaded(Instant now, const Loaded& loaded);
  // Call it at the end of every event. `durable` is the last durable commit.
  void finish_event(Commit durable, Effects& effects);

  [[nodiscard]] bool quiet() const { return held_.empty() && held_for_next_.empty(); }
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }
  [[nodiscard]] std::uint64_t shards_loaded() const { return shards_loaded_; }

 private:
  struct Held {
    std::optional<MemberIndex> from;
    std::size_t bytes;
    Then then;
  };
  [[nodiscard]] bool under_way(const Needs& needs) const;
  void ask(Commit durable, Effects& effects);
  void make_room(Commit durable);

  Executor& executor_;
  std::uint64_t number_;   // of the last load requested
  bool loading_ = false;   // it has not come yet
  LoadRequest asked_;      // the content of that load, sorted
  LoadRequest next_;       // being filled
  Commit asked_at_{};      // durable when it was requested
  std::deque<Held> held_;  // for the current load
  std::deque<Held> held_for_next_;
  std::size_t held_bytes_ = 0;
  std::size_t hand_ = 0;        // the next partition to evict from
  std::uint64_t inserted_ = 0;  // entries, up to the last event
  std::uint64_t shards_loaded_ = 0;
};

}  // namespace quipu
