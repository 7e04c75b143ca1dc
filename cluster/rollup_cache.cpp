#include "cluster/rollup_cache.h"

namespace quipu {

std::optional<Piece> RollupCache::read(Instant now, const ShardKey& shard) {
  const auto at = entries_.find(shard);
  if (at == entries_.end()) return std::nullopt;
  Entry& entry = at->second;
  if (!entry.read) entry.read = read_.insert(read_.end(), shard);
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
  if (entries_.size() > limit_) forget(by_use_.front());
  return at->second;
}

void RollupCache::forget(const ShardKey& shard) {
  const auto at = entries_.find(shard);
  if (at->second.read) read_.erase(*at->second.read);
  const auto use = at->second.use;  // may be what `shard` names
  entries_.erase(at);
  by_use_.erase(use);
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
  for (ShardKey& shard : read_) {
    Entry& entry = entries_.at(shard);
    entry.read.reset();
    if (!entry.asking) due.push_back(std::move(shard));
  }
  read_.clear();
  return due;
}

}  // namespace quipu
