#include "node/tls/handshake_slots.h"

#include <algorithm>

namespace quipu {

void HandshakeSlots::arrived(Instant now, Id id, const std::string& from) {
  ++waiting_;
  Source& source = sources_[from];
  if (source.slots >= kMostOfAnAddress) return source.without.push_back({id, now});
  ++source.slots;
  ready_.push_back({{id, now}, from});
}

std::vector<HandshakeSlots::Id> HandshakeSlots::take_ready() {
  std::vector<Id> begin;
  while (!ready_.empty() && under_way_.size() < kMost) {
    auto& [waited, from] = ready_.front();
    begin.push_back(waited.id);
    under_way_.push_back({waited.id, std::move(from)});
    ready_.pop_front();
    --waiting_;
  }
  return begin;
}

void HandshakeSlots::ended(Id id) {
  const auto at = std::ranges::find(under_way_, id, &UnderWay::id);
  if (at == under_way_.end()) return;  // returned by take_late() or take_oldest()
  const std::string from = std::move(at->from);
  under_way_.erase(at);
  free_slot(from);
}

void HandshakeSlots::free_slot(const std::string& from) {
  const auto at = sources_.find(from);
  Source& source = at->second;
  if (!source.without.empty()) {
    ready_.push_back({source.without.front(), from});
    source.without.pop_front();
  } else if (--source.slots == 0) {
    sources_.erase(at);
  }
}

std::optional<HandshakeSlots::Id> HandshakeSlots::take_oldest(
    const std::function<bool(Id)>& is_of_port) {
  struct Oldest {
    std::size_t count = 0;
    Id id{};
  };
  std::map<std::string, Oldest> by_address;
  const auto count = [&](Id id, const std::string& from) {
    if (!is_of_port(id)) return;
    Oldest& oldest = by_address[from];
    if (oldest.count++ == 0) oldest.id = id;
  };
  for (const UnderWay& one : under_way_) count(one.id, one.from);
  for (const auto& [waiting, from] : ready_) count(waiting.id, from);
  for (const auto& [from, source] : sources_) {
    for (const Waiting& one : source.without) count(one.id, from);
  }
  if (by_address.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(
      by_address, {}, [](const auto& address) { return address.second.count; });
  const std::string& from = most->first;
  const Id id = most->second.id;
  ended(id);
  if (const auto source = sources_.find(from); source != sources_.end()) {
    waiting_ -=
        std::erase_if(source->second.without, [&](const Waiting& one) { return one.id == id; });
  }
  if (const auto at = std::ranges::find(ready_, id, [](const auto& one) { return one.first.id; });
      at != ready_.end()) {
    ready_.erase(at);
    --waiting_;
    free_slot(from);
  }
  return id;
}

std::vector<HandshakeSlots::Id> HandshakeSlots::take_late(Instant now,
                                                          const WaitsSince& waits_since) {
  std::vector<Id> late;
  const auto too_long = [now](const Waiting& one) { return now - one.since > kMostWait; };
  for (auto& [from, source] : sources_) {
    while (!source.without.empty() && too_long(source.without.front())) {
      late.push_back(source.without.front().id);
      source.without.pop_front();
      --waiting_;
    }
  }
  while (!ready_.empty() && too_long(ready_.front().first)) {
    late.push_back(ready_.front().first.id);
    const std::string from = std::move(ready_.front().second);
    ready_.pop_front();
    --waiting_;
    free_slot(from);
  }
  if (!waiting()) return late;
  // As many as are needed: for those whose address has no slot, and those for whom the node has
  // none.
  std::map<std::string, std::size_t> wanted;
  for (const auto& [from, source] : sources_) {
    if (!source.without.empty()) wanted[from] = source.without.size();
  }
  std::size_t wanted_by_all = under_way_.size() < kMost ? 0 : ready_.size();
  std::vector<UnderWay> slow;
  for (const UnderWay& one : under_way_) {
    if (now - waits_since(one.id) > kPatience) slow.push_back(one);
  }
  std::ranges::stable_sort(slow, std::ranges::greater(),
                           [this](const UnderWay& one) { return sources_.at(one.from).slots; });
  for (const UnderWay& one : slow) {
    std::size_t& of_address = wanted[one.from];
    if (of_address == 0 && wanted_by_all == 0) continue;
    if (of_address > 0)
      --of_address;
    else
      --wanted_by_all;
    late.push_back(one.id);
    ended(one.id);
  }
  return late;
}

}  // namespace quipu
