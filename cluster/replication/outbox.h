// outbox.h: what one peer has still to be told: shards whose state changed here.
//
//   push ──▶ waiting ──take──▶ in flight ──acked──▶ gone
//               ▲                  │
//               └──── relink ──────┘
//
// A shard is in it once, and what is sent is its state at sending, so a hot
// counter costs one entry however often it is added to. Frames are acked one by
// one, never cumulatively: a frame's loss must not hide behind a later one's ack.
//
// Invariant: at most `limit` shards. Beyond, the whole outbox is dropped and
// anti-entropy takes over: memory stays bounded, and the peer is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "cluster/replication/placed_shard.h"
#include "storage/number_table.h"

namespace quipu {

class Outbox {
 public:
  struct Item : PlacedShard {
    Commit since;  // the first of its changes that the peer may not have
    Item(const PlacedRef& of, Commit commit) : PlacedShard(of), since(commit) {}
  };

  // Its frames are numbered from `first_number` on, which is odd, and which no client knows.
  Outbox(std::size_t limit, std::size_t max_frames, std::uint64_t first_number)
      : limit_(limit), max_frames_(max_frames), next_number_(first_number), names_(first_number) {}

  // False: it was full and is now empty; all that it held is lost to the peer.
  [[nodiscard]] bool push(const PlacedRef& shard, Commit since);
  // The memory that push() of it will look at.
  void prefetch(const Placement& placement) const { names_.prefetch(placement.hash); }

  // ---- the next frame ----
  [[nodiscard]] bool can_take() const { return !waiting_.empty() && frames_.size() < max_frames_; }
  [[nodiscard]] std::uint64_t next_number() const { return next_number_; }
  // The shards that it may show: how many, and each.
  [[nodiscard]] std::size_t next_size() const { return std::min(waiting_.size(), kFrameItems); }
  [[nodiscard]] const Item& next_item(std::size_t i) const { return waiting_[i]; }
  // It shows the first `count`, as they were at the sealed commit `as_of`. REQUIRES:
  // can_take(), and at least one.
  void take(std::size_t count, Commit as_of);

  // What that frame held, and the commit that its states were read at; nothing
  // for a number that is not in flight.
  struct Acked {
    Commit as_of{};
    std::vector<Item> items;
  };
  [[nodiscard]] Acked acked(std::uint64_t number);

  // The link was lost: what was in flight waits again, in front.
  void relink();
  void clear();

  // Whether an unacked item matches.
  template <class Match>
  [[nodiscard]] bool any(Match&& match) const {
    if (std::any_of(waiting_.begin(), waiting_.end(), match)) return true;
    return std::any_of(frames_.begin(), frames_.end(), [&](const auto& frame) {
      return std::any_of(frame.second.items.begin(), frame.second.items.end(), match);
    });
  }
  // Whether the peer has all up to that commit.
  [[nodiscard]] bool reached(Commit commit) const {
    return !any([commit](const Item& item) { return item.since <= commit; });
  }
  [[nodiscard]] bool empty() const { return waiting_.empty() && frames_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size() + in_flight_; }

 private:
  [[nodiscard]] Item* find(const PlacedRef& shard);

  // What one frame shows is brought back from the store first (Residency): not more at once.
  static constexpr std::size_t kFrameItems = 4096;

  std::size_t limit_;
  std::size_t max_frames_;
  std::uint64_t next_number_;
  std::deque<Item> waiting_;
  std::uint32_t first_ = 0;                // of its front; numbers count on, and wrap
  NumberTable names_;                      // of them
  std::map<std::uint64_t, Acked> frames_;  // in flight, by number
  std::size_t in_flight_ = 0;              // items of them
};

}  // namespace quipu
