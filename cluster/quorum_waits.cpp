#include "cluster/quorum_waits.h"

#include <algorithm>
#include <iterator>

namespace quipu {
namespace {

Done in_doubt(const Done& done, const char* why) {
  Done failed = done;
  failed.code = Code::in_doubt;
  failed.detail = why;
  return failed;
}

}  // namespace

void QuorumWaits::wait(ShardKey shard, Partition partition, Commit commit, const Origin& origin,
                       Done done, Instant deadline) {
  const ShardAt at = shards_.try_emplace(shard).first;
  Shard& entry = at->second;
  entry.partition = partition;
  entry.held.resize(view_.owners(partition).size());
  // Almost always at the end: only a retry is of an older commit.
  auto place = entry.waits.end();
  while (place != entry.waits.begin() && std::prev(place)->commit > commit) --place;
  entry.waits.insert(place, {commit, origin, std::move(done), deadline});
  ++size_;
  if (commit <= durable_) {
    hold(at, view_.self(), durable_);
  } else if (commit > entry.own) {
    entry.own = commit;
    own_.emplace_back(commit, std::move(shard));
  }
}

void QuorumWaits::hold(ShardAt at, MemberIndex owner, Commit commit) {
  Shard& shard = at->second;
  const auto owners = view_.owners(shard.partition);
  const auto position = std::find(owners.begin(), owners.end(), owner);
  if (position == owners.end()) return;
  if (owner == view_.self() && !view_.counts(shard.partition)) return;
  std::optional<Commit>& held = shard.held[static_cast<std::size_t>(position - owners.begin())];
  held = std::max(held, std::optional(commit));
  const auto is_met = [&](const Wait& wait) {
    const auto holds = [&](std::optional<Commit> as_of) { return as_of >= wait.commit; };
    return static_cast<std::size_t>(std::count_if(shard.held.begin(), shard.held.end(), holds)) >=
           view_.majority();
  };
  for (; !shard.waits.empty() && is_met(shard.waits.front()); --size_) {
    out_.answer(shard.waits.front().origin, std::move(shard.waits.front().done));
    shard.waits.pop_front();
  }
  if (shard.waits.empty()) shards_.erase(at);
}

void QuorumWaits::on_held(const ShardRef& shard, MemberIndex owner, Commit commit) {
  const auto at = shards_.find(ShardKey{std::string(shard.key), shard.shard});
  if (at != shards_.end()) hold(at, owner, commit);
}

void QuorumWaits::on_durable(Commit commit) {
  durable_ = commit;
  while (!own_.empty() && own_.front().first <= commit) {
    const ShardKey shard = std::move(own_.front().second);
    own_.pop_front();
    on_held(shard, view_.self(), commit);
  }
}

std::vector<ShardKey> QuorumWaits::restart() {
  std::vector<ShardKey> shards;
  for (auto at = shards_.begin(); at != shards_.end();) {
    shards.push_back(at->first);
    std::fill(at->second.held.begin(), at->second.held.end(), std::nullopt);
    hold(at++, view_.self(), durable_);
  }
  return shards;
}

void QuorumWaits::on_tick(Instant now) {
  for (auto at = shards_.begin(); at != shards_.end();) {
    std::deque<Wait>& waits = at->second.waits;
    std::erase_if(waits, [&](const Wait& wait) {
      if (now < wait.deadline) return false;
      out_.answer(
          wait.origin,
          in_doubt(wait.done, wait.commit <= durable_
                                  ? "durable here, but no majority of the owners has answered"
                                  : "applied here, but not durable yet"));
      --size_;
      return true;
    });
    at = waits.empty() ? shards_.erase(at) : std::next(at);
  }
}

}  // namespace quipu
