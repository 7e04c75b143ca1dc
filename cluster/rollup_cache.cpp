#include "cluster/rollup_cache.h"

namespace quipu {

std::optional<Piece> RollupCache::read(Instant now, const ShardKey& shard) {
  const auto at = entries_.find(shard);
  if (at == entries_.end()) return std::nullopt;
  at->second.read = true;
  if (!at->second.piece || now - at->second.answered > 3 * interval_) return std::nullopt;
  return at->second.piece;
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
  if (entries_.size() > limit_) {
    entries_.erase(by_use_.front());
    by_use_.pop_front();
  }
  return at->second;
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
  for (auto& [shard, entry] : entries_) {
    if (std::exchange(entry.read, false) && !entry.asking) due.push_back(shard);
  }
  return due;
}

}  // namespace quipu
