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

namespace {

std::size_t bytes_of(const std::unique_ptr<Units>& units) {
  return units != nullptr ? units->bytes() : 0;
}

}  // namespace

// All, if either is.
void Outbox::add_units(Item& item, const Units* units) {
  if (item.units == nullptr) return;
  const std::size_t before = bytes_of(item.units);
  if (units != nullptr) item.units->add(*units);
  if (units == nullptr || item.units->all()) item.units.reset();
  count_units(item, before);
}

void Outbox::count_units(Item& item, std::size_t before) {
  unit_bytes_ += bytes_of(item.units) - before;
  if (unit_bytes_ <= kMostUnitBytes) return;
  unit_bytes_ -= bytes_of(item.units);
  item.units.reset();
}

bool Outbox::push(const PlacedRef& shard, Commit since, const Units* units) {
  if (Item* const waiting = find(shard)) {
    add_units(*waiting, units);
    return true;
  }
  names_.insert(shard.placement.hash, first_ + static_cast<std::uint32_t>(waiting_.size()));
  waiting_.emplace_back(shard, since);
  if (units != nullptr && !units->all()) {
    waiting_.back().units = std::make_unique<Units>(*units);
    count_units(waiting_.back(), 0);
  }
  if (size() <= limit_) return true;
  clear();
  QUIPU_CHECK(empty(), "a full outbox is dropped as a whole");
  return false;
}

Units Outbox::next_units(std::size_t i) const {
  const Item& item = next_item(i);
  Units units = item.units != nullptr ? *item.units : Units::every();
  if (const auto flying = flying_.find(item.shard); flying != flying_.end())
    units.add(flying->second.units);
  return units;
}

void Outbox::land(const Item& item) {
  if (is_sum(item.shard.shard)) return;
  const auto flying = flying_.find(item.shard);
  QUIPU_CHECK(flying != flying_.end() && flying->second.frames > 0, "what lands was in flight",
              item.shard.key);
  unit_bytes_ -= bytes_of(item.units);
  if (--flying->second.frames > 0) return;
  unit_bytes_ -= flying->second.units.bytes();
  flying_.erase(flying);
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
    if (!is_sum(waiting_.front().shard.shard)) {
      Units units = next_units(0);
      Flying& flying = flying_[waiting_.front().shard];
      unit_bytes_ -= flying.units.bytes();
      if (unit_bytes_ + units.bytes() > kMostUnitBytes) units = Units::every();
      unit_bytes_ += units.bytes();
      flying.units = std::move(units);
      ++flying.frames;
    }
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
  for (const Item& item : acked.items) land(item);
  return acked;
}

// The oldest in front. A shard that changed again while in flight is waiting already. It keeps
// the older `since`, which the peer has not confirmed.
void Outbox::relink() {
  auto frames = std::exchange(frames_, {});
  for (const auto& [shard, flying] : flying_) unit_bytes_ -= flying.units.bytes();
  flying_.clear();
  in_flight_ = 0;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    std::vector<Item>& items = frame->second.items;
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (Item* const waiting = find(*item)) {
        waiting->since = std::min(waiting->since, item->since);
        unit_bytes_ -= bytes_of(item->units);
        add_units(*waiting, item->units.get());
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
  flying_.clear();
  in_flight_ = 0;
  unit_bytes_ = 0;
}

}  // namespace quipu
