#include "cluster/quorum_waits.h"

#include <algorithm>
#include <bit>

namespace quipu {
namespace {

Done in_doubt(const Done& done, const char* why) {
  Done failed = done;
  failed.code = Code::in_doubt;
  failed.detail = why;
  return failed;
}

}  // namespace

void QuorumWaits::wait(ShardKey shard, Partition partition, Commit commit, const Origin& origin, Done done,
                       Instant deadline) {
  waits_[shard].push_back({commit, partition, origin, std::move(done), deadline, 0});
  ++size_;
  own_.emplace_back(commit, std::move(shard));
  on_durable(durable_);
}

bool QuorumWaits::met(const Wait& wait) const {
  return static_cast<std::size_t>(std::popcount(wait.holders)) >= view_.majority();
}

void QuorumWaits::hold(std::vector<Wait>& waits, MemberIndex owner, Commit commit) {
  std::erase_if(waits, [&](Wait& wait) {
    if (wait.commit > commit) return false;
    if (owner == view_.self() && !view_.counts(wait.partition)) return false;
    const auto owners = view_.owners(wait.partition);
    const auto at = std::find(owners.begin(), owners.end(), owner);
    if (at != owners.end()) wait.holders |= std::uint64_t{1} << (at - owners.begin());
    if (!met(wait)) return false;
    out_.answer(wait.origin, std::move(wait.done));
    --size_;
    return true;
  });
}

void QuorumWaits::on_held(ShardRef shard, MemberIndex owner, Commit commit) {
  const auto at = waits_.find(ShardKey{std::string(shard.key), shard.shard});
  if (at == waits_.end()) return;
  hold(at->second, owner, commit);
  if (at->second.empty()) waits_.erase(at);
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
  for (auto& [shard, waits] : waits_) {
    for (Wait& wait : waits) wait.holders = 0;
    shards.push_back(shard);
  }
  for (const ShardKey& shard : shards) on_held(shard, view_.self(), durable_);
  return shards;
}

void QuorumWaits::on_tick(Instant now) {
  for (auto at = waits_.begin(); at != waits_.end();) {
    std::erase_if(at->second, [&](const Wait& wait) {
      if (now < wait.deadline) return false;
      out_.answer(wait.origin, in_doubt(wait.done, wait.commit <= durable_
                                                       ? "durable here, but no majority of the owners has answered"
                                                       : "applied here, but not durable yet"));
      --size_;
      return true;
    });
    at = at->second.empty() ? waits_.erase(at) : std::next(at);
  }
}

}  // namespace quipu
