#include "cluster/changes/executor_choice.h"

#include <algorithm>

#include "storage/kinds/parts.h"

namespace quipu {

Partition ExecutorChoice::partition_of(std::string_view key) const {
  return executor_.map().place({key, 0}).partition();
}

bool ExecutorChoice::has_shares(std::string_view key) const {
  const ShardRef sum{key, 0};
  const Placement placement = executor_.map().place(sum);
  const SentHome& sent = lately_[placement.hash % lately_.size()];
  if (sent.hash == placement.hash && executor_.now() < sent.until) {
    // Where it holds a sum by now, that counter has ended since.
    const ShardMap& map = executor_.map();
    const Entry* const held = map.resident(placement, sum) ? map.find(placement, sum) : nullptr;
    if (held == nullptr || !held->shows_counter(executor_.date())) return true;
  }
  const auto other = executor_.other_kind(sum, placement);
  return other && changes_at_home(other->first.shard);
}

// Nothing: it is not changed at home, or no owner is up. What names no kind, such as a DEL, is
// about the counter that the key has.
std::optional<MemberIndex> ExecutorChoice::home_of(const ShardRef& shard,
                                                   Partition partition) const {
  const NamespaceTable& namespaces = executor_.namespaces();
  const bool by_namespace = namespaces.by_operation() && namespaces.decides_at_home(shard.key);
  const bool by_kind = is_sum(shard.shard) ? has_shares(shard.key) : changes_at_home(shard.shard);
  if (!by_namespace && !by_kind) return std::nullopt;
  return view_.home(partition);
}

std::optional<MemberIndex> ExecutorChoice::of(const ShardRef& shard, Partition partition) const {
  const auto home = home_of(shard, partition);
  return home ? home : view_.owner_with_room(partition);
}

bool ExecutorChoice::keeps(MemberIndex member, std::span<const std::string_view> keys) const {
  if (!view_.takes_changes(member)) return false;
  return std::ranges::all_of(keys, [&](std::string_view key) {
    const Partition partition = partition_of(key);
    if (member == view_.self()) return view_.answers_for(partition);
    return std::ranges::find(view_.owners(partition), member) != view_.owners(partition).end();
  });
}

std::optional<MemberIndex> ExecutorChoice::of_several(
    std::string_view first, std::span<const std::string_view> keys) const {
  std::optional<MemberIndex> home = home_of({first, 0}, partition_of(first));
  for (std::size_t i = 0; !home && i < keys.size(); ++i)
    home = home_of({keys[i], 0}, partition_of(keys[i]));
  if (home) return keeps(*home, keys) ? home : std::nullopt;
  if (keeps(view_.self(), keys)) return view_.self();
  for (const MemberIndex owner : view_.owners(partition_of(first)))
    if (owner != view_.self() && keeps(owner, keys)) return owner;
  return std::nullopt;
}

}  // namespace quipu
