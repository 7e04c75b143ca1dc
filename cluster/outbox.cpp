#include "cluster/outbox.h"

#include <algorithm>
#include <iterator>

namespace quipu {

bool Outbox::push(const ShardKey& shard, Commit since) {
  if (!names_.insert(shard).second) return true;
  waiting_.push_back({shard, since});
  if (size() <= limit_) return true;
  clear();
  return false;
}

const Outbox::Frame& Outbox::cut(Commit as_of, std::size_t count) {
  const std::uint64_t number = next_number_++;
  Sent& sent = frames_[number];
  sent.as_of = as_of;
  sent.frame.number = number;
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto item = waiting_.begin(); item != end; ++item) names_.erase(item->shard);
  sent.frame.items.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return sent.frame;
}

Outbox::Acked Outbox::acked(std::uint64_t number) {
  const auto at = frames_.find(number);
  if (at == frames_.end()) return {};
  Acked acked{at->second.as_of, std::move(at->second.frame.items)};
  frames_.erase(at);
  return acked;
}

// A shard that changed again while in flight waits already; it keeps the older
// `since`, which is the one that the peer has not confirmed.
void Outbox::relink() {
  std::map<ShardKey, Commit> oldest;
  for (const auto& [number, sent] : frames_) {
    for (const Item& item : sent.frame.items) {
      const auto [at, fresh] = oldest.try_emplace(item.shard, item.since);
      if (!fresh) at->second = std::min(at->second, item.since);
    }
  }
  frames_.clear();
  for (Item& item : waiting_) {
    if (const auto at = oldest.find(item.shard); at != oldest.end()) {
      item.since = std::min(item.since, at->second);
      oldest.erase(at);
    }
  }
  for (auto& [shard, since] : oldest) {
    names_.insert(shard);
    waiting_.push_front({shard, since});
  }
}

void Outbox::clear() {
  waiting_.clear();
  names_.clear();
  frames_.clear();
}

std::size_t Outbox::size() const {
  std::size_t count = waiting_.size();
  for (const auto& [number, sent] : frames_) count += sent.frame.items.size();
  return count;
}

}  // namespace quipu
