#include "cluster/replication/outbox.h"

#include <utility>

#include "protocol/check.h"

namespace quipu {

Outbox::Item* Outbox::find(const PlacedRef& shard) {
  const auto number = names_.find(shard.placement.hash, [&](std::uint32_t one) {
    return PlacedRef(waiting_[one - first_]) == shard;
  });
  return number ? &waiting_[*number - first_] : nullptr;
}

bool Outbox::push(const PlacedRef& shard, Commit since) {
  if (find(shard) != nullptr) return true;
  names_.insert(shard.placement.hash, first_ + static_cast<std::uint32_t>(waiting_.size()));
  waiting_.emplace_back(shard, since);
  if (size() <= limit_) return true;
  clear();
  QUIPU_CHECK(empty(), "a full outbox is dropped as a whole");
  return false;
}

void Outbox::take(std::size_t count, Commit as_of) {
  constexpr std::size_t kAhead = 8;
  QUIPU_CHECK(count > 0 && count <= next_size() && can_take(), "a frame shows what waits", count,
              next_size());
  Acked& sent = frames_[next_number_++];
  sent.as_of = as_of;
  sent.items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (kAhead < waiting_.size()) names_.prefetch(waiting_[kAhead].placement.hash);
    names_.erase(waiting_.front().placement.hash, first_++);
    sent.items.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  in_flight_ += count;
  QUIPU_CHECK(frames_.size() <= max_frames_ && size() <= limit_,
              "frames in flight, and shards, are bounded", frames_.size(), size(), limit_);
}

Outbox::Acked Outbox::acked(std::uint64_t number) {
  const auto at = frames_.find(number);
  if (at == frames_.end()) return {};
  Acked acked = std::move(at->second);
  frames_.erase(at);
  QUIPU_CHECK(acked.items.size() <= in_flight_, "what is acknowledged was in flight",
              acked.items.size(), in_flight_);
  in_flight_ -= acked.items.size();
  return acked;
}

// The oldest in front. A shard that changed again while in flight is waiting already. It keeps
// the older `since`, which the peer has not confirmed.
void Outbox::relink() {
  auto frames = std::exchange(frames_, {});
  in_flight_ = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    std::vector<Item>& items = frame->second.items;
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (Item* const waiting = find(*item)) {
        waiting->since = std::min(waiting->since, item->since);
      } else {
        names_.insert(item->placement.hash, --first_);
        waiting_.push_front(std::move(*item));
      }
    }
  }
  QUIPU_CHECK(frames_.empty() && size() <= limit_, "what was in flight waits again, once", size(),
              limit_);
}

void Outbox::clear() {
  names_.clear();
  waiting_.clear();
  frames_.clear();
  in_flight_ = 0;
}

}  // namespace quipu
