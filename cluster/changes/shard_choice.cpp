#include "cluster/changes/shard_choice.h"

#include <algorithm>

#include "protocol/affinity.h"
#include "protocol/check.h"

namespace quipu {

std::optional<ShardIndex> ShardChoice::choose(Instant now, const Op& op, const Placement& first) {
  QUIPU_CHECK(op.shard == kAnyShard && executor_.map().resident(first, {op.key, 0}),
              "a shard is chosen once, where the first one can be looked at", op.key, op.shard);
  if (op.affinity == Affinity{}) return choose_local(op.key, first);
  if (!view_.owned(first.partition())) {
    if (const auto usable = reads_.usable(now, op.key))
      return shard_for(op.affinity, first, *usable);
    // An eventual add needs no other node.
    if (view_.live_owner(first.partition())) return std::nullopt;
  }
  return shard_for(op.affinity, first, executor_.map().usable(first, {op.key, 0}));
}

ShardIndex ShardChoice::choose_as_told(const Op& op, const Collector::Finished& finished) const {
  const ShardRef shard{op.key, 0};
  const Placement first = executor_.map().place(shard);
  ShardIndex usable = executor_.map().usable(first, shard);
  for (std::size_t i = 0; i < finished.shards.size(); ++i) {
    if (ShardRef(finished.shards[i]) == shard)
      usable = std::max(usable, finished.states[i].usable_shards);
  }
  return shard_for(op.affinity, first, usable);
}

ShardIndex ShardChoice::choose_local(std::string_view key, const Placement& first) {
  const ShardMap& map = executor_.map();
  const ShardIndex usable = map.usable(first, {key, 0});
  if (usable == 1) return 0;
  QUIPU_CHECK(usable <= kMaxShards, "a counter has at most 1024 shards", key, usable);
  const auto start = static_cast<ShardIndex>(random_.below(usable));
  for (ShardIndex i = 0; i < usable; ++i) {
    const auto shard = static_cast<ShardIndex>((start + i) % usable);
    if (view_.owned(map.place({key, shard}).partition())) return shard;
  }
  return start;
}

}  // namespace quipu
