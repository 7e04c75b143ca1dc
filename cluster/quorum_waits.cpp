#include "cluster/quorum_waits.h"

#include <algorithm>

namespace quipu {
namespace {

Done in_doubt(const Done& done, const char* why) {
  Done failed = done;
  failed.code = Code::in_doubt;
  failed.detail = why;
  return failed;
}

}  // namespace

void QuorumWaits::wait(const PlacedRef& shard, Commit commit, const Origin& origin, Done done,
                       Instant deadline) {
  ShardAt at = shards_.find(shard);
  if (at == shards_.end()) at = shards_.try_emplace(PlacedShard(shard)).first;
  Shard& entry = at->second;
  // Almost always at the end: only a retry is of an older commit.
  const auto place = std::ranges::upper_bound(entry.waits, commit, {}, &Wait::commit);
  entry.waits.insert(place, {commit, origin, std::move(done), deadline});
  ++size_;
  if (commit <= durable_) {
    hold(at, view_.self(), durable_);
  } else if (commit > entry.own) {
    entry.own = commit;
    own_.emplace_back(commit, at->first);
  }
}

void QuorumWaits::hold(ShardAt at, MemberIndex owner, Commit commit) {
  Shard& shard = at->second;
  const Partition partition = at->first.placement.partition();
  const auto owners = view_.owners(partition);
  const auto position = std::find(owners.begin(), owners.end(), owner);
  if (position == owners.end()) return;
  if (owner == view_.self() && !view_.counts(partition)) return;
  std::optional<Commit>& held = shard.held[static_cast<std::size_t>(position - owners.begin())];
  held = std::max(held, std::optional(commit));
  const auto is_met = [&](const Wait& wait) {
    const auto holds = [&](std::optional<Commit> as_of) { return as_of >= wait.commit; };
    return static_cast<std::size_t>(std::count_if(shard.held.begin(), shard.held.end(), holds)) >=
           view_.majority();
  };
  auto met = shard.waits.begin();
  for (; met != shard.waits.end() && is_met(*met); ++met)
    out_.answer(met->origin, std::move(met->done));
  size_ -= static_cast<std::size_t>(met - shard.waits.begin());
  shard.waits.erase(shard.waits.begin(), met);
  if (shard.waits.empty()) shards_.erase(at);
}

void QuorumWaits::on_held(const PlacedRef& shard, MemberIndex owner, Commit commit) {
  if (shards_.empty()) return;
  const auto at = shards_.find(shard);
  if (at != shards_.end()) hold(at, owner, commit);
}

void QuorumWaits::on_durable(Commit commit) {
  durable_ = commit;
  while (!own_.empty() && own_.front().first <= commit) {
    const PlacedShard shard = std::move(own_.front().second);
    own_.pop_front();
    on_held(shard, view_.self(), commit);
  }
}

template <class Wanted>
std::vector<QuorumWaits::ShardAt> QuorumWaits::by_name(Wanted wanted) {
  std::vector<ShardAt> found;
  for (auto at = shards_.begin(); at != shards_.end(); ++at) {
    if (std::ranges::any_of(at->second.waits, wanted)) found.push_back(at);
  }
  std::ranges::sort(found, {}, [](ShardAt at) -> const ShardKey& { return at->first.shard; });
  return found;
}

std::vector<ShardKey> QuorumWaits::restart() {
  std::vector<ShardKey> shards;
  for (const ShardAt at : by_name([](const Wait&) { return true; })) {
    shards.push_back(at->first.shard);
    at->second.held.fill(std::nullopt);
    hold(at, view_.self(), durable_);
  }
  return shards;
}

void QuorumWaits::on_tick(Instant now) {
  const auto late = [now](const Wait& wait) { return now >= wait.deadline; };
  for (const ShardAt at : by_name(late)) {
    std::deque<Wait>& waits = at->second.waits;
    for (const Wait& wait : waits) {
      if (!late(wait)) continue;
      out_.answer(
          wait.origin,
          in_doubt(wait.done, wait.commit <= durable_
                                  ? "durable here, but no majority of the owners has answered"
                                  : "applied here, but not durable yet"));
    }
    size_ -= std::erase_if(waits, late);
    if (waits.empty()) shards_.erase(at);
  }
}

}  // namespace quipu
