// rollup_cache.h: totals of shards that other members own.
//
// The first read of a shard asks an owner, and concurrent readers share the question. Shards
// that were read since the last interval are asked again in one batch, so a hot counter costs
// each reading node one question an interval. Bounded: shards that were not asked for longest
// are dropped first. (Shards that are read stay.)
#pragma once

#include <list>
#include <map>
#include <optional>
#include <vector>

#include "cluster/reads/collector.h"
#include "protocol/check.h"
#include "protocol/instant.h"
#include "storage/lattice.h"

namespace quipu {

// The contribution of one shard to a read.
struct Piece {
  Total total;
  ShardIndex shard_count = 1;
  ShardIndex usable_shards = 1;
  bool missing = false;  // no live owner
  Instant as_of{};       // age = now − as_of; meaningless if age_unknown
  bool age_unknown = false;
  bool complete = true;
  Wall ends{};  // when it counts no more; Wall{}: never
};

class RollupCache {
 public:
  RollupCache(std::size_t limit, Duration interval) : limit_(limit), interval_(interval) {
    QUIPU_CHECK(limit > 0, "a cache has room for what was asked last");
  }

  // Nothing if it was never asked, or so long ago that it is not current.
  [[nodiscard]] std::optional<Piece> read(Instant now, const ShardKey& shard);
  // The round that asks for it now.
  [[nodiscard]] std::optional<RoundId> asking(const ShardKey& shard) const;

  void on_asked(const ShardKey& shard, RoundId round);
  void on_answered(Instant now, const ShardKey& shard, const Piece& piece);

  // The shards that were read since the last call and have no open question: ask for them now.
  [[nodiscard]] std::vector<ShardKey> take_due();
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::optional<Piece> piece;
    Instant answered{};
    std::optional<RoundId> asking;
    std::list<ShardKey>::iterator use;
    std::optional<std::list<ShardKey>::iterator> due;  // was read since the last take_due
  };
  Entry& touch(const ShardKey& shard);
  void forget_oldest();

  std::size_t limit_;
  Duration interval_;
  std::map<ShardKey, Entry> entries_;
  std::list<ShardKey> by_use_;  // least recently asked or answered first
  std::list<ShardKey> due_;     // in the order of their first read
};

}  // namespace quipu
