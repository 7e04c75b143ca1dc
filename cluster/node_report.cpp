// node_report.cpp: what a node tells about itself and what it holds.
#include <algorithm>
#include <iterator>

#include "cluster/node_core.h"

namespace quipu {
namespace {

std::uint32_t milliseconds(std::optional<Duration> age) {
  if (!age) return kUnknownAge;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*age).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, kUnknownAge - 1));
}

using EntryIterator = std::vector<Entry*>::const_iterator;

// Of the leaf that `at` stands in, and moves it behind. More than an answer may hold
// are in one leaf only if somebody aimed them there, as any client can: of those the
// last are not told, rather than that an answer outgrows its frame.
std::vector<std::string> names_in_leaf(EntryIterator& at, EntryIterator end,
                                       std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::uint8_t leaf = (*at)->leaf(); at != end && (*at)->leaf() == leaf; ++at) {
    const Entry& entry = **at;
    const ShardRef ref = entry.ref();
    const bool exists = entry.total().exists || entry.has(Entry::kCounted);
    const bool told = ref.shard == 0 && exists && ref.key.starts_with(prefix);
    if (told && names.size() < kMaxReadKeys) names.emplace_back(ref.key);
  }
  return names;
}

}  // namespace

std::string NodeCore::state() const {
  if (abandoned_) return "this disk came back from an older copy: taking a new identity";
  if (view_.retired()) {
    return "another store was pinned in place of this one, which counts no more: start this node "
           "with --rebuild, or "
           "stop it";
  }
  if (!executor_->meta().pins.founded) {
    // A wiped disk looks as blank as a new one; the members that know better say so.
    for (MemberIndex member = 0; member < config_.members.size(); ++member) {
      if (member != self_ && greeting_.refused(member)) return greeting_.state(member);
    }
    return "waiting for every founding member to be seen once";
  }
  if (!settled_) return "waiting for the other owners to confirm this store";
  if (!view_.whole()) return "being filled from the other owners: it does not count yet";
  return "ready";
}

// In whole leaves, so that a cursor is a place: the first whatever it holds, those
// behind it as far as they fit.
Keys NodeCore::list(const List& list) const {
  constexpr std::size_t kPartitionsPerCall = 64;  // bounds the work where little matches
  Keys keys{list.id, {}};
  const std::size_t limit = std::clamp<std::size_t>(list.limit, 1, kMaxListKeys);
  std::vector<Entry*> entries;
  keys.next = std::min(list.cursor, kListEnd);
  for (std::size_t work = 0; keys.next < kListEnd && work < kPartitionsPerCall; ++work) {
    const Partition partition{static_cast<std::uint16_t>(keys.next / kLeaves)};
    const std::uint32_t begin = raw(partition) * std::uint32_t{kLeaves};
    entries.clear();
    if (view_.owned(partition)) {
      executor_->map().collect_from(partition, static_cast<std::uint8_t>(keys.next % kLeaves),
                                    entries);
    }
    for (EntryIterator at = entries.begin(); at != entries.end();) {
      const std::uint8_t leaf = (*at)->leaf();
      std::vector<std::string> found = names_in_leaf(at, entries.end(), list.prefix);
      if (!keys.keys.empty() && keys.keys.size() + found.size() > limit) {
        keys.next = begin + leaf;
        return keys;
      }
      std::move(found.begin(), found.end(), std::back_inserter(keys.keys));
    }
    keys.next = begin + std::uint32_t{kLeaves};
  }
  return keys;
}

ConfigReply NodeCore::config(std::uint64_t id) const {
  ConfigReply reply;
  reply.id = id;
  reply.cluster = config_.id;
  reply.cluster_name = config_.name;
  reply.node = config_.members[self_].id;
  reply.version = config_.version;
  reply.ready = ready();
  reply.placement_key = executor_->map().placement_key();
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    const Member& member = config_.members[i];
    reply.members.push_back(
        {member.id, member.name, member.client_address, view_.pinned(i), member.weight});
  }
  reply.replication = config_.owners.replication();
  reply.owners = config_.owners.rows();
  return reply;
}

StatusReply NodeCore::status(Instant now, std::uint64_t id) const {
  StatusReply reply;
  reply.id = id;
  reply.name = config_.members[self_].name;
  reply.state = state();
  reply.cluster = config_.id;
  reply.node = config_.members[self_].id;
  reply.store = executor_->meta().store;
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    if (i == self_) continue;
    const Member& member = config_.members[i];
    reply.peers.push_back({member.name, member.peer_address, greeting_.state(i),
                           replicator_.outbox_size(i), milliseconds(freshness_.age_of(now, i))});
  }
  const Coordinator::Counts& ops = coordinator_.counts();
  const Replicator::Counts& sent = replicator_.counts();
  const AntiEntropy::Counts& repair = anti_entropy_.counts();
  reply.stats = {
      {"adds_executed", ops.adds_executed},
      {"commit_durable", raw(durable_)},
      {"conflicts", executor_->conflicts()},
      {"dirty_shards", executor_->map().dirty()},
      {"frames_merged", sent.frames_merged},
      {"frames_sent", sent.frames_sent},
      {"memory_bytes", executor_->map().bytes()},
      {"ops_forwarded", ops.forwarded},
      {"ops_refused", ops.refused},
      {"outboxes_lost", sent.outboxes_lost},
      {"partitions_dropped", sent.partitions_dropped},
      {"quorum_waiting", waits_.size()},
      {"repair_bytes", repair.bytes_pulled},
      {"repair_pulls", repair.pulls},
      {"repair_shards", repair.shards_repaired},
      {"resets_executed", ops.resets_executed},
      {"sessions", executor_->tokens().sessions()},
      {"shards", executor_->map().size()},
      {"unsynced_bytes", unsynced_bytes_},
  };
  return reply;
}

}  // namespace quipu
