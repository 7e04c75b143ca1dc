#include "cluster/replication/replica.h"

#include "cluster/membership/version_vector.h"
#include "cluster/replication/state_size.h"
#include "protocol/check.h"
#include "storage/kinds/parts.h"

namespace quipu {
namespace {

static_assert(kPullBytes + kMaxStateBytes < kMaxStatesBytes);

constexpr std::size_t kDigestBytes = 48;  // of a shard, beside its key

}  // namespace

void Replica::on_collect(Instant now, MemberIndex from, const Collect& ask) {
  if (executor_.has_open()) executor_.seal();
  Collected answer;
  answer.id = ask.id;
  ShardState state;
  std::vector<Partition> partitions;
  for (const ShardKey& shard : ask.shards) {
    executor_.map().read(shard, state);
    const Placement placement = executor_.map().place(shard);
    const auto place = static_cast<std::uint32_t>(partitions.size());
    const bool shows = shows_counter(shard, state);
    std::optional<StateHash> hash;
    if (ask.hashes && bytes_of(state.parts) > kSmallBodies) {
      hash = {place, hash_state(executor_.map().placement_key(), shard, state)};
      state = {};
    }
    const std::size_t bytes = answer.states.bytes() + state_bytes(shard, state);
    if (!answer.states.empty() && bytes > kUsualStatesBytes) break;
    answer.states.push(shard, state);
    if (hash) answer.hashes.push_back(*hash);
    partitions.push_back(placement.partition());
    if (shows) continue;
    if (const auto other = executor_.other_kind(shard, placement))
      answer.others.push_back({place, kind_of(other->first.shard), other->ends});
  }
  QUIPU_CHECK(answer.states.bytes() <= kMaxStatesBytes, "an answer fits its frame",
              answer.states.bytes());
  answer.states.versions = known_versions(executor_);
  answer.boot = executor_.meta().lineage.back().boot;
  answer.unfilled = view_.unfilled(std::move(partitions));
  QUIPU_CHECK(!executor_.has_open(), "an answer has sealed states only");
  const Age age = freshness_.age(now);
  answer.age_ms = age_in_ms(age.age);
  answer.complete = age.complete && answer.unfilled.empty();
  out_.reply({from, ask.fence}, std::move(answer), executor_.covering());
}

// Informs the other owners of new shards: an owner that was not asked must not call a read
// complete without them.
// Why a write-back from an ended start is refused: the member may have lost what it answered in
// it. It asks only the partition's owners whether it lost something, and goes on under its
// actor, below the commits in the write-back. If these were merged, they would swallow what it
// counts from then on.
void Replica::on_write_back(MemberIndex from, const WriteBack& write) {
  if (!view_.all_current(write.boots)) {
    out_.send(from, WrittenBack{write.id, Code::stale_config, {}});
    return;
  }
  const std::vector<Partition> refused = executor_.merge(write.states);
  WrittenBack answer;
  answer.id = write.id;
  std::vector<Partition> partitions;
  write.states.for_each([&](const DeltaEntry& entry) {
    partitions.push_back(executor_.map().place(entry.ref).partition());
    if (entry.shard_count > 1) replicator_.offer(entry.ref);
  });
  answer.unfilled = view_.unfilled(std::move(partitions), refused);
  out_.reply({from, write.fence}, std::move(answer), executor_.covering());
}

void Replica::on_pull(MemberIndex from, const Pull& pull) {
  if (executor_.has_open()) executor_.seal();
  Pulled answer;
  answer.id = pull.id;
  answer.kind = pull.kind;
  answer.whole = view_.whole();
  switch (pull.kind) {
    case PullKind::root:
      pull_root(from, answer);
      break;
    case PullKind::partitions:
      pull_partitions(from, pull, answer);
      break;
    case PullKind::leaves:
      pull_leaves(pull, answer);
      break;
    case PullKind::keys:
      pull_keys(pull, answer);
      break;
    case PullKind::states:
      pull_states(pull, answer);
      break;
  }
  QUIPU_CHECK(!executor_.has_open(), "an answer shows sealed states only", pull.kind);
  out_.send(from, std::move(answer), executor_.covering());
}

Hash128 Replica::shared_root(const View& view, const ShardMap& map, MemberIndex a, MemberIndex b) {
  QUIPU_CHECK(a != b, "two members compare what both own", a);
  Hash128 root;
  for (const Partition partition : map.ledger().held_in()) {
    if (view.owns(a, partition) && view.owns(b, partition)) root += map.ledger().digest(partition);
  }
  return root;
}

// Not answered if it would stall, or if this node holds something that only the asker owns.
// Then the asker must compare more closely in any case.
void Replica::pull_root(MemberIndex from, Pulled& answer) const {
  const ShardMap& map = executor_.map();
  if (map.ledger().dirty() > kDirtyForRoot) return;
  for (const Partition partition : map.ledger().held_in()) {
    if (!view_.owned(partition)) return;
  }
  answer.root = shared_root(view_, map, from, view_.self());
  answer.answered = 1;
}

void Replica::pull_partitions(MemberIndex from, const Pull& pull, Pulled& answer) const {
  for (const Partition partition : pull.partitions) {
    ++answer.answered;
    if (executor_.map().ledger().size(partition) == 0 || !view_.owns(from, partition)) continue;
    answer.partitions.push_back({partition, executor_.map().ledger().digest(partition)});
    if (answer.partitions.size() == kPartitionsPerPull) return;
  }
}

void Replica::pull_leaves(const Pull& pull, Pulled& answer) const {
  for (const Partition partition : pull.partitions) {
    if (answer.answered == kLeafPartitionsPerPull) return;
    ++answer.answered;
    const Digest::Leaves leaves = executor_.map().ledger().leaves(partition);
    for (std::size_t i = 0; i < kLeaves; ++i) {
      if (leaves[i] != Hash128{})
        answer.leaves.push_back({{partition, static_cast<std::uint8_t>(i)}, leaves[i]});
    }
  }
}

// Stops at any place where the answer is long enough, also within a leaf. If someone aims keys
// at a leaf, the repair takes more questions, but answers everything.
void Replica::pull_keys(const Pull& pull, Pulled& answer) const {
  const ShardMap& map = executor_.map();
  std::vector<const Entry*> entries;
  const ShardKey* after = pull.shards.empty() ? nullptr : &pull.shards.front();
  std::size_t bytes = 0;
  for (const LeafId& leaf : pull.leaves) {
    map.index().collect_leaf(leaf.partition, leaf.leaf, entries);
    for (const Entry* entry : entries) {
      const ShardRef ref = entry->ref();
      if (after != nullptr && ref <= ShardRef(*after)) continue;
      if (entry->is_spent()) continue;  // in no digest
      if (bytes > answer_bytes_) return;
      answer.shards.push_back({{std::string(ref.key), ref.shard}, map.ledger().hash(*entry)});
      bytes += ref.key.size() + kDigestBytes;
    }
    after = nullptr;
    ++answer.answered;
  }
}

void Replica::pull_states(const Pull& pull, Pulled& answer) const {
  ShardState state;
  for (const ShardKey& shard : pull.shards) {
    // At least one: an empty answer would end the repair.
    if (answer.answered > 0 && answer.states.bytes() > answer_bytes_) break;
    ++answer.answered;
    if (executor_.map().read(shard, state)) answer.states.push(shard, state);
  }
  QUIPU_CHECK(answer.states.bytes() <= kMaxStatesBytes, "an answer fits its frame",
              answer.states.bytes());
  answer.states.versions = known_versions(executor_);
}

}  // namespace quipu
