// outbox.h: what one peer has not got yet: the shards whose state changed here.
//
//   push ──▶ waiting ──take──▶ in flight ──acked──▶ gone
//               ▲                  │
//               └──── relink ──────┘
//
// It knows which units of a body changed, and sends only these. A frame has all
// units that no ack has confirmed, also those of earlier frames. So an ack means the same for every
// shard: the peer has all that was pushed of it up to that frame.
//
// A shard is in it once, and its state is read when it is sent. So a hot counter takes one
// entry no matter how often it changes. Frames are acked one by one, never cumulatively: a
// later ack must not hide the loss of an earlier frame.
//
// Invariant: at most `limit` shards. Beyond, the whole outbox is dropped and anti-entropy
// takes over: memory stays bounded, and the peer learns of the loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "cluster/replication/placed_shard.h"
#include "protocol/check.h"
#include "protocol/shard_number.h"
#include "storage/kinds/units.h"
#include "storage/number_table.h"

namespace quipu {

class Outbox {
 public:
  // The room for the units that it remembers.
  static constexpr std::size_t kMostUnitBytes = std::size_t{8} << 20;

  struct Item : PlacedShard {
    Commit since;  // the first of its changes that the peer may not have
    // What changed of its bodies. Null: all, or it is a sum.
    std::unique_ptr<Units> units;
    Item(const PlacedRef& of, Commit commit) : PlacedShard(of), since(commit) {}
  };

  // Its frames are numbered from `first_number` on, which is odd and unknown to clients.
  Outbox(std::size_t limit, std::size_t max_frames, std::uint64_t first_number)
      : limit_(limit), max_frames_(max_frames), next_number_(first_number), names_(first_number) {
    QUIPU_CHECK(limit > 0 && max_frames > 0, "an outbox has room for a shard, and for a frame",
                limit, max_frames);
  }

  Outbox(Outbox&&) noexcept = default;
  Outbox& operator=(Outbox&&) noexcept = default;

  // False: it was full and is now empty. The peer lost everything that it held. `units`: of its
  // bodies, those that changed; null: all. It is all, too, once the outbox has kMostUnitBytes.
  [[nodiscard]] bool push(const PlacedRef& shard, Commit since, const Units* units = nullptr);
  // Prefetches the memory that push() of the shard will use.
  void prefetch(const Placement& placement) const { names_.prefetch(placement.hash); }

  // ---- the next frame ----
  [[nodiscard]] bool can_take() const { return !waiting_.empty() && frames_.size() < max_frames_; }
  [[nodiscard]] std::uint64_t next_number() const { return next_number_; }
  // The shards that the next frame may contain: how many, and each.
  [[nodiscard]] std::size_t next_size() const { return std::min(waiting_.size(), kFrameItems); }
  [[nodiscard]] const Item& next_item(std::size_t i) const {
    QUIPU_CHECK(i < waiting_.size(), "a frame shows only what waits", i, waiting_.size());
    return waiting_[i];
  }
  // What the next frame must have of that shard, which has bodies.
  [[nodiscard]] Units next_units(std::size_t i) const;
  // The frame has the first `count`, as of the sealed commit `as_of`. REQUIRES: can_take(), and
  // at least one shard.
  void take(std::size_t count, Commit as_of);

  // The shards of that frame, and the commit at which their states were read. Nothing for a
  // number that is not in flight.
  struct Acked {
    Commit as_of{};
    std::vector<Item> items;
  };
  [[nodiscard]] Acked acked(std::uint64_t number);

  // The link was lost: the shards in flight wait again, in front.
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
  // Whether the peer has everything up to that commit.
  [[nodiscard]] bool reached(Commit commit) const {
    return !any([commit](const Item& item) { return item.since <= commit; });
  }
  // Takes at most kMostUnitBytes.
  [[nodiscard]] std::size_t unit_bytes() const { return unit_bytes_; }
  [[nodiscard]] bool empty() const { return waiting_.empty() && frames_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size() + in_flight_; }
  // For what can wait: half of it stays free for what cannot.
  [[nodiscard]] std::size_t room() const {
    return (limit_ + 1) / 2 - std::min((limit_ + 1) / 2, size());
  }

 private:
  // For a shard with bodies: the units in frames in flight, and the number of these frames.
  struct Flying {
    Units units;
    std::size_t frames = 0;
  };

  [[nodiscard]] Item* find(const PlacedRef& shard);
  void add_units(Item& item, const Units* units);
  void count_units(Item& item, std::size_t before);
  void land(const Item& item);

  // The states of one frame are read back from the store first (Residency): this is the limit.
  static constexpr std::size_t kFrameItems = 4096;

  std::size_t limit_;
  std::size_t max_frames_;
  std::uint64_t next_number_;
  std::deque<Item> waiting_;
  std::uint32_t first_ = 0;                // number of its front; numbers count on, and wrap
  NumberTable names_;                      // by shard
  std::map<std::uint64_t, Acked> frames_;  // in flight, by number
  std::size_t in_flight_ = 0;              // items in them
  std::map<ShardKey, Flying> flying_;
  std::size_t unit_bytes_ = 0;  // of all items and flights
};

}  // namespace quipu
