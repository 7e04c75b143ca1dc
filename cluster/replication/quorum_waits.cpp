#include "cluster/replication/quorum_waits.h"

#include <algorithm>
#include <functional>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr std::size_t kKeptShards = 1024;  // slots that stay, free or not
constexpr std::size_t kKeptWaits = 4;      // the most waits that a free slot keeps room for

Done in_doubt(const Done& done, const char* why) {
  Done failed = done;
  failed.code = Code::in_doubt;
  failed.detail = why;
  return failed;
}

}  // namespace

void QuorumWaits::wait(const PlacedRef& shard, Commit commit, const Origin& origin, Done done,
                       Instant deadline) {
  QUIPU_CHECK(is_name(shard.shard), "what waits for a majority is one shard", shard.shard.key,
              shard.shard.shard);
  const Number number = find_or_add(shard);
  Shard& entry = shards_[number];
  if (commit <= durable_) note(entry, view_.self(), durable_);
  if (met(entry, commit)) {
    out_.answer(origin, std::move(done));
    return forget_answered(number);
  }
  // A retry has an older commit, and may wait a little longer: the next ack is as new as the other
  // waits. So all waits keep one order.
  if (!entry.waits.empty()) commit = std::max(commit, entry.waits.back().commit);
  entry.waits.push_back({commit, origin, std::move(done), deadline});
  ++size_;
  if (commit <= std::max(durable_, entry.own)) return;
  entry.own = commit;
  own_.hold(number, commit);
}

QuorumWaits::Number QuorumWaits::find_or_add(const PlacedRef& shard) {
  if (const auto number = find(shard)) return *number;
  // The lowest, so that the last slots become free. Removed ones are not below it.
  Number number = static_cast<Number>(shards_.size());
  if (free_.empty() || free_.front() >= number) {
    free_.clear();
    shards_.emplace_back(shard);
  } else {
    std::ranges::pop_heap(free_, std::greater<>());
    number = free_.back();
    free_.pop_back();
    Shard& again = shards_[number];
    QUIPU_CHECK(again.waits.empty() && again.answered == 0,
                "no wait is left in a place that is free", number, again.waits.size());
    again.name.shard.key.assign(shard.shard.key);  // into the room of the one before
    again.name.shard.shard = shard.shard.shard;
    again.name.placement = shard.placement;
  }
  names_.insert(shard.placement.hash, number);
  return number;
}

// On average each wait moves once at most.
void QuorumWaits::forget_answered(Number number) {
  Shard& shard = shards_[number];
  if (shard.waiting().empty()) return release(number);
  QUIPU_CHECK(shard.answered < shard.waits.size(), "no more waits are answered than there are",
              shard.answered, shard.waits.size());
  if (2 * shard.answered < shard.waits.size()) return;
  const auto first = shard.waits.begin();
  shard.waits.erase(first, first + static_cast<std::ptrdiff_t>(shard.answered));
  shard.answered = 0;
}

void QuorumWaits::release(Number number) {
  Shard& shard = shards_[number];
  QUIPU_CHECK(shard.waiting().empty(), "only a shard without waits is released",
              shard.name.shard.key);
  names_.erase(shard.name.placement.hash, number);
  free_.push_back(number);
  std::ranges::push_heap(free_, std::greater<>());
  shard.waits.clear();
  if (shard.waits.capacity() > kKeptWaits) shard.waits = std::vector<Wait>();
  shard.answered = 0;
  shard.held.fill(std::nullopt);
  shard.own = {};
  while (shards_.size() > kKeptShards && shards_.back().waits.empty()) shards_.pop_back();
}

void QuorumWaits::note(Shard& shard, MemberIndex owner, Commit commit) {
  const Partition partition = shard.name.placement.partition();
  const auto owners = view_.owners(partition);
  const auto position = std::find(owners.begin(), owners.end(), owner);
  if (position == owners.end()) return;
  if (owner == view_.self() && !view_.in_quorum(partition)) return;
  const auto place = static_cast<std::size_t>(position - owners.begin());
  QUIPU_CHECK(place < shard.held.size(), "a partition has at most 7 owners", partition, place);
  std::optional<Commit>& held = shard.held[place];
  held = std::max(held, std::optional(commit));
}

bool QuorumWaits::met(const Shard& shard, Commit commit) const {
  const auto holds = [&](std::optional<Commit> as_of) { return as_of >= commit; };
  return static_cast<std::size_t>(std::count_if(shard.held.begin(), shard.held.end(), holds)) >=
         view_.majority();
}

void QuorumWaits::hold(Number number, MemberIndex owner, Commit commit) {
  Shard& shard = shards_[number];
  note(shard, owner, commit);
  for (Wait& wait : shard.waiting()) {
    if (!met(shard, wait.commit)) break;
    QUIPU_CHECK(size_ > 0 && shard.answered < shard.waits.size(), "each wait is answered once",
                size_, shard.answered);
    out_.answer(wait.origin, std::move(wait.done));
    ++shard.answered;
    --size_;
  }
  forget_answered(number);
}

void QuorumWaits::on_held(const PlacedRef& shard, MemberIndex owner, Commit commit) {
  if (size_ == 0) return;
  if (const auto number = find(shard)) hold(*number, owner, commit);
}

void QuorumWaits::on_durable(Commit commit) {
  QUIPU_CHECK(commit >= durable_, "the durable commit never decreases", commit, durable_);
  durable_ = commit;
  own_.release(commit, [&](Number number) {
    if (number < shards_.size() && !shards_[number].waits.empty())
      hold(number, view_.self(), commit);
  });
}

template <class Wanted>
std::vector<QuorumWaits::Number> QuorumWaits::by_name(Wanted wanted) {
  std::vector<Number> found;
  for (Number number = 0; number < shards_.size(); ++number) {
    if (std::ranges::any_of(shards_[number].waiting(), wanted)) found.push_back(number);
  }
  std::ranges::sort(found, {},
                    [this](Number one) -> const ShardKey& { return shards_[one].name.shard; });
  return found;
}

std::vector<ShardKey> QuorumWaits::restart() {
  std::vector<ShardKey> shards;
  for (const Number number : by_name([](const Wait&) { return true; })) {
    shards.push_back(shards_[number].name.shard);
    shards_[number].held.fill(std::nullopt);
    hold(number, view_.self(), durable_);
  }
  return shards;
}

void QuorumWaits::on_tick(Instant now) {
  const auto late = [now](const Wait& wait) { return now >= wait.deadline; };
  for (const Number number : by_name(late)) {
    Shard& shard = shards_[number];
    for (const Wait& wait : shard.waiting()) {
      if (!late(wait)) continue;
      out_.answer(
          wait.origin,
          in_doubt(wait.done, wait.commit <= durable_
                                  ? "durable here, but no majority of the owners has answered"
                                  : "applied here, but not durable yet"));
    }
    const auto first = shard.waits.begin() + static_cast<std::ptrdiff_t>(shard.answered);
    const auto rest = std::remove_if(first, shard.waits.end(), late);
    const auto ended = static_cast<std::size_t>(shard.waits.end() - rest);
    QUIPU_CHECK(ended <= size_, "each wait ends once", ended, size_);
    size_ -= ended;
    shard.waits.erase(rest, shard.waits.end());
    forget_answered(number);
  }
}

}  // namespace quipu
