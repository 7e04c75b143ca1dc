#include "cluster/reads/rollup_cache.h"

#include "protocol/check.h"

namespace quipu {

std::optional<Piece> RollupCache::read(Instant now, const ShardKey& shard) {
  const auto at = entries_.find(shard);
  if (at == entries_.end()) return std::nullopt;
  Entry& entry = at->second;
  if (!entry.due) entry.due = due_.insert(due_.end(), shard);
  if (!entry.piece || now - entry.answered > 3 * interval_) return std::nullopt;
  return entry.piece;
}

std::optional<RoundId> RollupCache::asking(const ShardKey& shard) const {
  const auto at = entries_.find(shard);
  return at == entries_.end() ? std::nullopt : at->second.asking;
}

RollupCache::Entry& RollupCache::touch(const ShardKey& shard) {
  const auto [at, fresh] = entries_.try_emplace(shard);
  if (!fresh) {
    by_use_.splice(by_use_.end(), by_use_, at->second.use);
    return at->second;
  }
  at->second.use = by_use_.insert(by_use_.end(), shard);
  if (entries_.size() > limit_) forget_oldest();
  return at->second;
}

void RollupCache::forget_oldest() {
  QUIPU_CHECK(by_use_.size() == entries_.size() && !by_use_.empty(), "each entry is listed once",
              by_use_.size(), entries_.size());
  const auto at = entries_.find(by_use_.front());
  QUIPU_CHECK(at != entries_.end(), "each shard that is listed has an entry", entries_.size());
  if (at->second.due) due_.erase(*at->second.due);
  entries_.erase(at);
  by_use_.pop_front();
}

void RollupCache::on_asked(const ShardKey& shard, RoundId round) { touch(shard).asking = round; }

void RollupCache::on_answered(Instant now, const ShardKey& shard, const Piece& piece) {
  Entry& entry = touch(shard);
  entry.asking.reset();
  entry.piece = piece;
  entry.answered = now;
}

std::vector<ShardKey> RollupCache::take_due() {
  std::vector<ShardKey> due;
  for (ShardKey& shard : due_) {
    Entry& entry = entries_.at(shard);
    entry.due.reset();
    if (!entry.asking) due.push_back(std::move(shard));
  }
  due_.clear();
  QUIPU_CHECK(due.size() <= entries_.size(), "a shard is due once", due.size(), entries_.size());
  return due;
}

}  // namespace quipu
