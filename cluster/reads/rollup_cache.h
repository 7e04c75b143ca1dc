// rollup_cache.h: totals of shards that other members own.
//
// The first read of a shard asks an owner, concurrent readers share the question,
// and what was read since the last interval is asked again in one batch, so a hot
// counter costs each reading node one question an interval. Bounded: those that were
// not asked for longest go first. (What is read stays asked.)
#pragma once

#include <list>
#include <map>
#include <optional>
#include <vector>

#include "cluster/reads/collector.h"
#include "protocol/instant.h"
#include "storage/lattice.h"

namespace quipu {

// What one shard contributes to a read.
struct Piece {
  Total total;
  ShardIndex count = 1;
  ShardIndex usable = 1;
  bool missing = false;  // no live owner
  Instant as_of{};       // age = now − as_of; meaningless if age_unknown
  bool age_unknown = false;
  bool complete = true;
};

class RollupCache {
 public:
  RollupCache(std::size_t limit, Duration interval) : limit_(limit), interval_(interval) {}

  // Nothing if it was never asked, or too long ago to pass for current.
  [[nodiscard]] std::optional<Piece> read(Instant now, const ShardKey& shard);
  // Who asks for it at the moment.
  [[nodiscard]] std::optional<RoundId> asking(const ShardKey& shard) const;

  void on_asked(const ShardKey& shard, RoundId round);
  void on_answered(Instant now, const ShardKey& shard, const Piece& piece);

  // What was read since the last call and is not being asked, so asked again now.
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
  std::list<ShardKey> by_use_;  // asked or answered least recently first
  std::list<ShardKey> due_;     // in the order of their first read
};

}  // namespace quipu
