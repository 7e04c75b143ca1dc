#include "cluster/replication/replicator.h"

#include <algorithm>
#include <array>
#include <span>

#include "cluster/membership/version_vector.h"
#include "cluster/replication/state_size.h"
#include "protocol/check.h"
#include "storage/kinds/parts.h"

namespace quipu {
namespace {

constexpr std::size_t kAhead = 8;  // of shards whose memory is fetched

}  // namespace

Replicator::Replicator(const View& view, Executor& executor, Outbound& out, QuorumWaits& waits,
                       Residency& residency, const NodeSettings& settings)
    : view_(view),
      executor_(executor),
      out_(out),
      waits_(waits),
      residency_(residency),
      settings_(settings),
      queued_(executor.sealed()) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    peers_.push_back(
        {Outbox(settings.outbox_shards, settings.frames_in_flight, view.first_number())});
  }
}

template <class Urgent>
void Replicator::push_to_owners(const PlacedRef& shard, Commit since, const Units* units,
                                Urgent urgent) {
  const Partition partition = shard.placement.partition();
  if (!view_.owned(partition)) foreign_.insert(partition);
  for (const MemberIndex owner : view_.owners(partition)) {
    if (owner == view_.self()) continue;
    push(owner, shard, since, units);
    peers_[owner].urgent = peers_[owner].urgent || urgent();
  }
}

void Replicator::offer_foreign() {
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const Partition partition{p};
    if (view_.owned(partition)) continue;
    executor_.map().index().for_each(partition, [this](const Entry& entry) { offer(entry.ref()); });
  }
}

void Replicator::on_sealed(const Sealed& sealed) {
  QUIPU_CHECK(raw(sealed.commit) == raw(queued_) + sealed.records,
              "records go to the outboxes in order, each once", sealed.commit, queued_);
  // Several records may be written as one; the change may be in any of them.
  const Commit since{raw(queued_) + 1};
  queued_ = sealed.commit;
  if (view_.size() == 1) return;  // no peer needs it
  std::vector<PlacedRef> shards;
  sealed.local.for_each([&](const ShardRef& ref) {
    shards.push_back({ref, executor_.map().place(ref)});
  });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (i + kAhead < shards.size()) prefetch(shards[i + kAhead].placement);
    const auto units =
        is_sum(shards[i].shard.shard)
            ? sealed.units.end()
            : sealed.units.find({std::string(shards[i].shard.key), shards[i].shard.shard});
    push_to_owners(shards[i], since, units == sealed.units.end() ? nullptr : &units->second,
                   [&] { return waits_.waits_for(shards[i]); });
  }
}

void Replicator::prefetch(const Placement& placement) const {
  for (const MemberIndex owner : view_.owners(placement.partition()))
    peers_[owner].outbox.prefetch(placement);
}

void Replicator::offer(const ShardRef& ref, const Units* units) {
  push_to_owners({ref, executor_.map().place(ref)}, executor_.covering(), units,
                 [] { return true; });
}

// Operations that wait for a lost shard may still be answered by the other owners. Otherwise
// they are in doubt at their deadline.
void Replicator::push(MemberIndex member, const PlacedRef& shard, Commit since,
                      const Units* units) {
  QUIPU_CHECK(member != view_.self(), "a node keeps no outbox for itself", member);
  Peer& peer = peers_[member];
  if (peer.outbox.push(shard, since, units)) return;
  ++peer.lost_epoch;
  ++counts_.outboxes_lost;
  ++peer.counts.outboxes_lost;
}

void Replicator::flush(Flush what) {
  for (MemberIndex member = 0; member < peers_.size(); ++member) {
    Peer& peer = peers_[member];
    if (member == view_.self() || !view_.up(member) || !peer.outbox.can_take()) continue;
    if (what == Flush::urgent && !peer.urgent) continue;
    send_frames(member);
    peer.urgent = false;
  }
}

void Replicator::send_frames(MemberIndex member) {
  if (executor_.has_open()) executor_.seal();
  const Commit as_of = executor_.sealed();
  while (peers_[member].outbox.can_take() && bring_back(member)) {
    Outbox& outbox = peers_[member].outbox;
    DeltaFrame message{outbox.next_number(), view_.fence(), Delta(as_of)};
    outbox.take(show(peers_[member], message.delta), as_of);
    QUIPU_CHECK(!executor_.has_open(), "a frame shows sealed states only", as_of);
    QUIPU_CHECK(message.delta.bytes() <= kMaxStatesBytes, "the states of a message fit its frame",
                member, message.delta.bytes());
    message.delta.versions = known_versions(executor_);
    out_.send(member, std::move(message), as_of);
    ++counts_.frames_sent;
    ++peers_[member].counts.frames_sent;
  }
}

// Fills a frame with waiting shards; returns how many. It prefetches memory in groups.
// ShardMap::for_each_fetched() would not stop, and would compute the places again.
// It shows only the units of bodies that changed, if the peer has the rest: then the peer has
// repaired all that was lost on the way, and has acked the rest.
std::size_t Replicator::show(const Peer& peer, Delta& delta) const {
  constexpr std::size_t kGroup = 16;
  const Outbox& outbox = peer.outbox;
  const bool has_rest = peer.pulled_epoch >= peer.lost_epoch;
  const ShardMap& map = executor_.map();
  std::array<Placement, kGroup> group;
  ShardState state;
  std::size_t bytes = 0, shown = 0;
  const auto room = [&] { return shown == 0 || bytes < settings_.frame_bytes; };
  while (shown < outbox.next_size() && room()) {
    const std::size_t size = std::min(kGroup, outbox.next_size() - shown);
    for (std::size_t i = 0; i < size; ++i) group[i] = outbox.next_item(shown + i).placement;
    map.prefetch(std::span(group).first(size));
    for (std::size_t i = 0; i < size && room(); ++i) {
      const ShardKey& shard = outbox.next_item(shown).shard;
      const bool held = map.read(group[i], shard, state);
      if (held && !is_sum(shard.shard) && has_rest) {
        if (const Units units = outbox.next_units(shown); !units.all())
          state.parts = extract_parts(kind_of(shard.shard), state.parts, units.some());
      }
      if (held) delta.push(shard, state);
      ++shown;
      bytes += state_bytes(shard, state);
    }
  }
  return shown;
}

// False: a load brings it. Shards that wait for an absent peer may have been evicted meanwhile.
bool Replicator::bring_back(MemberIndex member) {
  Peer& peer = peers_[member];
  if (executor_.map().eviction().all_resident()) return true;
  if (peer.loading) return false;
  Needs shown;
  for (std::size_t i = 0; i < peer.outbox.next_size(); ++i)
    shown.shards.push_back(peer.outbox.next_item(i).shard);
  if (residency_.resident(shown)) return true;
  QUIPU_CHECK(!shown.shards.empty(), "something that waits is brought back", member);
  peer.loading = true;
  residency_.hold(std::move(shown), Residency::Turn::again, std::nullopt, [this, member](Instant) {
    peers_[member].loading = false;
    if (view_.up(member)) send_frames(member);
  });
  return false;
}

void Replicator::on_frame(MemberIndex from, const DeltaFrame& frame) {
  const std::vector<Partition> refused = executor_.merge(frame.delta);
  ++counts_.frames_merged;
  ++peers_[from].counts.frames_merged;
  DeltaAck ack;
  ack.numbers.push_back(frame.number);
  std::vector<Partition> partitions;
  frame.delta.for_each([&](const DeltaEntry& entry) {
    const Partition partition = executor_.map().place(entry.ref).partition();
    partitions.push_back(partition);
    if (!view_.owned(partition)) offer(entry.ref);
  });
  ack.unfilled = view_.unfilled(std::move(partitions), refused);
  out_.reply({from, frame.fence}, std::move(ack), executor_.covering());
}

void Replicator::on_ack(MemberIndex from, const DeltaAck& ack) {
  for (const std::uint64_t number : ack.numbers) {
    const Outbox::Acked acked = peers_[from].outbox.acked(number);
    for (std::size_t i = 0; i < acked.items.size(); ++i) {
      if (i + kAhead < acked.items.size()) waits_.prefetch(acked.items[i + kAhead].placement);
      const Outbox::Item& item = acked.items[i];
      const Partition partition = item.placement.partition();
      const bool filled = !std::binary_search(ack.unfilled.begin(), ack.unfilled.end(), partition);
      if (ack.code == Code::ok && filled) {
        waits_.on_held(item, from, acked.as_of);
      } else if (waits_.waits_for(item) || !view_.owned(partition)) {
        push(from, item, acked.as_of);  // informed again with the next flush
      }
    }
  }
  if (peers_[from].outbox.can_take() && peers_[from].urgent) flush(Flush::urgent);
}

void Replicator::on_link_up(MemberIndex member) {
  peers_[member].outbox.relink();
  peers_[member].pulled_epoch = 0;
}

void Replicator::on_fence_changed() {
  for (Peer& peer : peers_) peer.outbox.relink();  // acks of what is in flight mean another fence
  for (const ShardKey& shard : waits_.restart()) offer(shard);
  offer_foreign();
}

bool Replicator::settled(Partition partition) const {
  const auto inside = [partition](const Outbox::Item& item) {
    return item.placement.partition() == partition;
  };
  const auto owners = view_.owners(partition);
  return std::none_of(owners.begin(), owners.end(), [&](MemberIndex owner) {
    const Peer& peer = peers_[owner];
    return (peer.lost_epoch > 1 && peer.pulled_epoch < peer.lost_epoch) || peer.outbox.any(inside);
  });
}

// Once the outboxes have everything, so that nothing of it is only in memory.
void Replicator::drop_settled_foreign() {
  if (foreign_.empty() || queued_ != executor_.covering()) return;
  std::erase_if(foreign_, [this](Partition partition) {
    QUIPU_CHECK(!view_.owned(partition), "an owned partition is never dropped", partition);
    if (!settled(partition)) return false;
    QUIPU_CHECK(!executor_.has_open(), "what is dropped is in no open record", partition);
    executor_.drop(partition);
    ++counts_.partitions_dropped;
    return true;
  });
}

bool Replicator::reached(MemberIndex member, Commit commit) const {
  const Peer& peer = peers_[member];
  return queued_ >= commit && peer.pulled_epoch >= peer.lost_epoch && peer.outbox.reached(commit);
}

std::vector<MemberIndex> Replicator::behind() const {
  std::vector<MemberIndex> members;
  for (MemberIndex member = 0; member < peers_.size(); ++member) {
    const Peer& peer = peers_[member];
    const bool has_all = peer.outbox.empty() && peer.pulled_epoch >= peer.lost_epoch;
    if (member != view_.self() && !has_all) members.push_back(member);
  }
  return members;
}

bool Replicator::drained() const {
  // What takes all from the others, or can take nothing, may need longer than anybody waits.
  return std::ranges::none_of(behind(), [this](MemberIndex member) {
    const bool pulls = !view_.bootstrapping(member) && !view_.full(member);
    return view_.up(member) && (pulls || !peers_[member].outbox.empty());
  });
}

}  // namespace quipu
