// node_report.cpp: what a node tells about itself and what it holds.
#include <algorithm>
#include <numeric>

#include "cluster/node_core.h"

namespace quipu {
namespace {

// For each kind, its states in memory.
void add_stats_of_kinds(const EntryIndex& index, std::vector<Stat>& stats) {
  for (const Kind kind : kKinds) {
    const auto [states, bytes] = index.in_memory(kind);
    stats.push_back({std::string("state_memory_bytes_") + name_of(kind), bytes});
    stats.push_back({std::string("states_in_memory_") + name_of(kind), states});
  }
}

std::int64_t in_ms(std::optional<Duration> time) {
  return time ? std::chrono::round<std::chrono::milliseconds>(*time).count() : kUnknownClock;
}

}  // namespace

std::string NodeCore::state() const {
  if (identity_.abandoned()) return "this disk came back from an older copy: taking a new identity";
  if (view_.retired()) {
    return "another store was pinned in place of this one, which counts no more: start this node "
           "with --rebuild, or "
           "stop it";
  }
  if (service_ == Service::reads) {
    return serves_reads() ? "the disk is full: waiting for room, and serving local reads meanwhile"
                          : "the disk is full: waiting for room";
  }
  if (!executor_->meta().pins.founded) {
    // A wiped disk looks as blank as a new one. The members that know better say so.
    for (MemberIndex member = 0; member < config_.members.size(); ++member) {
      if (member != self_ && handshake_.refused(member)) return handshake_.state(member);
    }
    return handshake_.founding_state();
  }
  if (!identity_.settled()) return "waiting for the other owners to confirm this store";
  if (waits_for_clock_) return "comparing its clock with the other members'";
  if (view_.full(self_)) return "the disk is full: adds are refused until there is room";
  if (!view_.whole()) return "being filled from the other owners: it does not count yet";
  return "ready";
}

ConfigReply NodeCore::config(std::uint64_t id) const {
  ConfigReply reply;
  reply.id = id;
  reply.cluster = config_.id;
  reply.cluster_name = config_.name;
  reply.node = config_.members[self_].id;
  reply.version = config_.version;
  reply.ready = ready();
  const Pins& pins = executor_->meta().pins;
  if (pins.founded) reply.placement_key = executor_->map().placement_key();
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    const Member& member = config_.members[i];
    // Before the founding, so that clients can see which members it waits for.
    const StoreId store = pins.founded ? view_.pinned(i) : founding_store(pins, member.id);
    reply.members.push_back({member.id, member.name, member.client_address, store, member.weight});
  }
  reply.replication = config_.owners.replication();
  reply.owners = config_.owners.rows();
  reply.by = settings_.speaker;
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
    reply.peers.push_back({member.name, member.peer_address, handshake_.state(i),
                           replicator_.outbox_size(i), age_in_ms(freshness_.age_of(now, i)),
                           in_ms(clock_.offset(now, i))});
  }
  reply.clock_ms = in_ms(clock_.ahead());
  reply.clock_trusted = clock_.trusted();
  reply.clock_doubt = clock_.doubt();
  const Coordinator::Counts& ops = coordinator_.counts();
  const Replicator::Counts& sent = replicator_.counts();
  const AntiEntropy::Counts& repair = anti_entropy_.counts();
  reply.stats = {
      {"adds_executed",
       std::accumulate(ops.plain_adds.begin(), ops.plain_adds.end(), ops.adds_executed)},
      {"commit_durable", raw(seals_.durable())},
      {"conflicts", executor_->conflicts()},
      {"counters", key_counts_.counters_here()},
      {"counters_ended", executor_->ended()},
      {"decisions_executed", ops.decisions_executed},
      {"dirty_shards", executor_->map().ledger().dirty()},
      {"ended_waiting", executor_->map().ledger().spent()},
      {"expiries_executed", ops.expiries_executed},
      {"frames_merged", sent.frames_merged},
      {"frames_sent", sent.frames_sent},
      {"held_bytes", residency_.held_bytes()},
      {"memory_bytes", executor_->map().bytes()},
      {"memory_used_bytes", executor_->map().index().footprint()},
      {"ops_forwarded", ops.forwarded},
      {"ops_refused", ops.refused},
      {"outboxes_lost", sent.outboxes_lost},
      {"partitions_dropped", sent.partitions_dropped},
      {"question_cache_bytes", queries_.cached_bytes()},
      {"quorum_waiting", waits_.size()},
      {"repair_bytes", repair.bytes_pulled},
      {"repair_pulls", repair.pulls},
      {"repair_shards", repair.shards_repaired},
      {"resets_executed", ops.resets_executed},
      {"rollup_shards", reads_.cached()},
      {"sessions", executor_->tokens().sessions()},
      {"shards", executor_->map().ledger().size()},
      {"shards_loaded", residency_.shards_loaded()},
      {"states_put", executor_->states_put()},
      {"unsynced_bytes", seals_.unsynced_bytes()},
  };
  add_stats_of_kinds(executor_->map().index(), reply.stats);
  std::ranges::sort(reply.stats, {}, &Stat::name);
  return reply;
}

CoreFigures NodeCore::figures(Instant now) const {
  CoreFigures all;
  const auto since = [now](std::optional<Instant> then) -> std::optional<Duration> {
    if (!then) return std::nullopt;
    return now - *then;
  };
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    if (i == self_) continue;
    const Replicator::PeerCounts& counts = replicator_.counts(i);
    const bool up = view_.up(i);
    all.peers.push_back({.name = config_.members[i].name,
                         .up = up,
                         .age = freshness_.age_of(now, i),
                         .round_trip = up ? freshness_.round_trip(i) : std::nullopt,
                         .outbox = replicator_.outbox_size(i),
                         .outboxes_lost = counts.outboxes_lost,
                         .frames_sent = counts.frames_sent,
                         .frames_merged = counts.frames_merged,
                         .since_repair = since(anti_entropy_.finished(i))});
  }
  all.rollup = freshness_.age(now);
  all.reads = reads_.sources();
  all.reads.add(queries_.sources());
  all.shard_answers = collector_.durations();
  all.store_full = view_.full(self_);
  for (const Kind kind : kKinds)
    all.states_in_memory += executor_->map().index().in_memory(kind).states;
  all.evictions = executor_->map().eviction().evictions();
  all.journal_bytes = executor_->checkpoint().journal_bytes();
  all.since_checkpoint = since(checkpointed_);
  all.records = seals_.records();
  all.record_bytes = seals_.record_bytes();
  return all;
}

}  // namespace quipu
