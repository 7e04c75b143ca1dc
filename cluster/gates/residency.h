// residency.h: what must be brought back from the store before it can be looked at,
// and what goes to make room for it.
//
//   event that names a shard in the store alone ──▶ held ──LoadRequest──▶ shell
//                            again ◀── restored ◀──── Loaded ◀──────────────┘
//
// One load is under way at a time; what is wanted meanwhile goes with the next.
//
// Why a load never brings what is out of date: only what was durable in the store when
// the one under way was asked for is evicted.
// Why everything held gets its turn: what is held again asks for all that it names,
// and looks at it in the very call that restores it.
// Why ops on one shard keep their order: what is held for a shard that the load under
// way brings waits for that load, behind all that was held for it before, and runs
// before anything can find the shard in memory.
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
  // `executor` must outlive it. Loads are numbered from `first_number` on: one that a
  // core before this one asked for may still come.
  Residency(Executor& executor, std::uint64_t first_number)
      : executor_(executor), number_(first_number) {}

  // ---- what an event looks at ----
  // Whether all of it is in memory.
  [[nodiscard]] bool resident(const Needs& needs) const;
  // Runs `then` in the call that brings it. `again`: it has been held before.
  // `from`: with that member's link it is dropped.
  enum class Turn { first, again };
  using Then = std::function<void(Instant now)>;
  void hold(Needs needs, Turn turn, std::optional<MemberIndex> from, Then then);
  void on_link_lost(MemberIndex member);

  // ---- events ----
  // Restores, and runs what was held for it.
  void on_loaded(Instant now, const Loaded& loaded);
  // At the end of every event; `durable` is the last commit that is.
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
  std::uint64_t number_;   // of the last load asked for
  bool loading_ = false;   // it has not come yet
  LoadRequest asked_;      // what it brings, sorted
  LoadRequest next_;       // being filled
  Commit asked_at_{};      // durable when it was asked for
  std::deque<Held> held_;  // for the one under way
  std::deque<Held> held_for_next_;
  std::size_t held_bytes_ = 0;
  std::size_t hand_ = 0;        // the partition whose turn it is to be evicted from
  std::uint64_t inserted_ = 0;  // entries, up to the last event
  std::uint64_t shards_loaded_ = 0;
};

}  // namespace quipu
