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
#include <set>
#include <string>
#include <vector>

#include "protocol/ids.h"

namespace quipu {

class Outbox {
 public:
  struct Item {
    ShardKey shard;
    Commit since{};  // the first of its changes that the peer may not have
  };

  // Its frames are numbered from `first_number` on.
  Outbox(std::size_t limit, std::size_t max_frames, std::uint64_t first_number)
      : limit_(limit), max_frames_(max_frames), next_number_(first_number) {}

  // False: it was full and is now empty; all that it held is lost to the peer.
  [[nodiscard]] bool push(const ShardKey& shard, Commit since);

  [[nodiscard]] bool can_take() const { return !waiting_.empty() && frames_.size() < max_frames_; }
  // The next frame's shards, about `max_bytes` of keys and cells; `as_of` is the
  // sealed commit that their states will be read at. REQUIRES: can_take().
  struct Frame {
    std::uint64_t number;
    std::vector<Item> items;
  };
  template <class Size>
  [[nodiscard]] const Frame& take(Commit as_of, std::size_t max_bytes, Size&& size_of) {
    std::size_t bytes = 0, count = 0;
    const std::size_t most = std::min(waiting_.size(), kFrameItems);
    while (count < most && (count == 0 || bytes < max_bytes))
      bytes += size_of(waiting_[count++].shard);
    return cut(as_of, count);
  }

  // All that the next frame may show, and perhaps more.
  template <class Visit>
  void for_next(Visit&& visit) const {
    for (std::size_t i = 0; i < std::min(waiting_.size(), kFrameItems); ++i)
      visit(waiting_[i].shard);
  }

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
      const auto& items = frame.second.frame.items;
      return std::any_of(items.begin(), items.end(), match);
    });
  }
  // Whether the peer has all up to that commit.
  [[nodiscard]] bool reached(Commit commit) const {
    return !any([commit](const Item& item) { return item.since <= commit; });
  }
  [[nodiscard]] bool empty() const { return waiting_.empty() && frames_.empty(); }
  [[nodiscard]] std::size_t size() const;

 private:
  // What one frame shows is brought back from the store first (Residency): not more at once.
  static constexpr std::size_t kFrameItems = 4096;

  struct Sent {
    Commit as_of{};
    Frame frame;
  };

  const Frame& cut(Commit as_of, std::size_t count);

  std::size_t limit_;
  std::size_t max_frames_;
  std::uint64_t next_number_;
  std::deque<Item> waiting_;
  std::set<ShardKey, std::less<>> names_;  // of the waiting ones
  std::map<std::uint64_t, Sent> frames_;   // in flight
};

}  // namespace quipu
