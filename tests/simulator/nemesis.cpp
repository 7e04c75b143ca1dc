#include "tests/simulator/nemesis.h"

#include <algorithm>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string in_seconds(Duration length) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(length).count()) + " ms";
}

// How far that disk's node can testify that the store has come.
Commit sighted(const MemoryDisk& disk, StoreId store) {
  Commit newest{};
  const auto look = [&](const std::vector<Sighting>& sightings) {
    for (const Sighting& one : sightings) {
      if (one.store == store) newest = std::max(newest, one.commit);
    }
  };
  for (const auto& [key, value] : disk.durable) {
    if (key == stored::meta()) look(decode_meta(key, value)->sightings);
    if (stored::parse_record(key)) look(decode_record(key, value)->delta.sightings);
  }
  return newest;
}

StoreId store_on(const MemoryDisk& disk) {
  const auto meta = disk.durable.find(stored::meta());
  return decode_meta(meta->first, meta->second)->store;
}

// The newest record that is on it.
Commit extent(const MemoryDisk& disk) {
  Commit newest{};
  for (const auto& [key, value] : disk.durable) {
    if (stored::parse_record(key))
      newest = std::max(newest, decode_record(key, value)->delta.commit());
  }
  return newest;
}

}  // namespace

Nemesis::Nemesis(const Shared& shared, std::vector<SimNode*> nodes, Ledger& ledger,
                 const Options& options, Random random)
    : shared_(shared),
      nodes_(std::move(nodes)),
      ledger_(ledger),
      options_(options),
      random_(random),
      hosts_(options.nodes + options.clients + options.wire_clients),
      left_(options.faults),
      restarting_(nodes_.size()),
      lost_(nodes_.size()),
      copies_(nodes_.size()),
      must_change_(nodes_.size()) {}

void Nemesis::start() {
  active_ = true;
  shared_.network.be_kind(false);
  if (options_.has(Knob::drift)) {
    for (SimNode* node : nodes_) node->clock().drift(draw_ppm());
  }
  strike();
}

void Nemesis::strike() {
  if (!active_) return;
  static constexpr Fault kFaults[] = {
      {Knob::crashes, &Nemesis::crash},
      {Knob::crashes, &Nemesis::crash},
      {Knob::all_crash, &Nemesis::crash_all},
      {Knob::pauses, &Nemesis::pause},
      {Knob::cuts, &Nemesis::cut},
      {Knob::one_way_cuts, &Nemesis::cut_one_way},
      {Knob::no_replies, &Nemesis::cut_replies},
      {Knob::strangers, &Nemesis::stranger},
      {Knob::slow_disks, &Nemesis::slow_disk},
      {Knob::full_disks, &Nemesis::full_disk},
      {Knob::failed_syncs, &Nemesis::fail_sync},
      {Knob::wipes, &Nemesis::wipe},
      {Knob::old_copies, &Nemesis::restore_copy},
      {Knob::bit_flips, &Nemesis::flip_bit},
      {Knob::clock_jumps, &Nemesis::jump_clock},
  };
  for (SimNode* node : nodes_) {
    if (!node->running()) restart_later(*node);  // a failed sync ended it
  }
  std::vector<const Fault*> possible;
  for (const Fault& fault : kFaults) {
    if (options_.has(fault.knob)) possible.push_back(&fault);
  }
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  Random chance = random_.split();
  if (!possible.empty() && left_ > 0) {
    --left_;
    (this->*possible[chance.below(possible.size())]->strike)(node);
  }
  if (options_.has(Knob::old_copies) && chance.below(4) == 0)
    take_copy(chance.below(nodes_.size()));
  shared_.time.in(milliseconds(20 + chance.below(options_.fault_ms)), [this] { strike(); });
}

void Nemesis::take_copy(std::size_t node) { copies_[node] = nodes_[node]->disk().bytes(); }

void Nemesis::injected(const SimNode& node, const char* kind, Duration length) {
  ++shared_.trace.faults[kind];
  shared_.trace.say(shared_.time.now(), [&] {
    return std::string("*** ") + node.name() + ": " + kind +
           (length > Duration::zero() ? " for " + in_seconds(length) : "");
  });
}

void Nemesis::heal() {
  active_ = false;
  ++cuts_;
  shared_.network.be_kind(true);
  shared_.network.heal();
  for (SimNode* node : nodes_) {
    node->disk().be_slow(milliseconds(3));
    node->disk().be_full(false);
    node->disk().fail_no_sync();
    if (!node->running()) restart(*node);
  }
}

void Nemesis::check_identities() const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (must_change_[i] == StoreId{} || !nodes_[i]->running() ||
        nodes_[i]->core()->executor().meta().store != must_change_[i])
      continue;
    shared_.trace.fail(shared_.time.now(), Invariant::old_copy_is_noticed,
                       nodes_[i]->name() +
                           " runs on an older copy of its disk, a peer can testify to later "
                           "records, and it still goes by the same store id");
  }
}

// ---- processes ----

void Nemesis::crash(SimNode& node) {
  if (!node.running()) return;
  injected(node, "crash");
  node.crash();
  restart_later(node);
}

void Nemesis::crash_all(SimNode&) {
  if (random_.below(3) != 0) return;
  for (SimNode* node : nodes_) crash(*node);
}

void Nemesis::restart_later(SimNode& node) {
  if (restarting_[node.host()]) return;
  restarting_[node.host()] = true;
  shared_.time.in(upto(random_.below(3) == 0 ? 5000 : 300), [this, &node] { restart(node); });
}

void Nemesis::restart(SimNode& node) {
  restarting_[node.host()] = false;
  if (node.running()) return;
  new_clock(node);
  if (node.start()) return;
  const Code why = node.refusal().code();
  if (why == Code::storage_full || why == Code::storage_failed) {  // a start writes, too
    node.disk().crash();
    restart_later(node);
  } else {
    shared_.trace.fail(shared_.time.now(), Invariant::no_crash,
                       node.name() + " does not start: " + node.refusal().message());
  }
}

void Nemesis::pause(SimNode& node) {
  const Duration length = upto(random_.below(2) == 0 ? 8000 : 800);
  injected(node, "pause", length);
  node.pause(length);
}

// ---- the network ----

void Nemesis::cut(SimNode& node) {
  injected(node, "cut");
  const bool from_all = random_.below(2) == 0;
  const HostId other = random_.below(hosts_);
  for (HostId host = 0; host < hosts_; ++host) {
    if (host == node.host() || (!from_all && host != other)) continue;
    if (from_all && host >= nodes_.size() && random_.below(2) == 0) continue;
    shared_.network.cut(node.host(), host);
    shared_.network.cut(host, node.host());
  }
  heal_network_later();
}

void Nemesis::cut_one_way(SimNode& node) {
  injected(node, "one-way cut");
  const HostId other = random_.below(hosts_);
  if (other != node.host()) shared_.network.cut(other, node.host());
  heal_network_later();
}

void Nemesis::cut_replies(SimNode& node) {
  injected(node, "no replies");
  for (HostId host = 0; host < hosts_; ++host) {
    if (host != node.host()) shared_.network.cut(node.host(), host);
  }
  heal_network_later();
}

// Clients reach it.
void Nemesis::isolate(const SimNode& node) {
  for (const SimNode* other : nodes_) {
    if (other == &node) continue;
    shared_.network.cut(node.host(), other->host());
    shared_.network.cut(other->host(), node.host());
  }
  heal_network_later();
}

void Nemesis::heal_network_later() {
  shared_.time.in(upto(random_.below(2) == 0 ? 7000 : 500), [this, mine = ++cuts_] {
    if (mine == cuts_) shared_.network.heal();
  });
}

// It says all that a member would say, but for the cluster.
void Nemesis::stranger(SimNode& node) {
  if (!node.running() || ledger_.keys().empty()) return;
  const auto connection = std::make_shared<ConnId>();
  std::optional<Ears> theirs = node.accept_peer([connection] { return *connection; });
  if (!theirs) return;
  injected(node, "stranger");
  const HostId host = hosts_;  // nobody else's
  *connection = shared_.network.connect(host, {[](const std::string&) {}, [] {}}, node.host(),
                                        std::move(*theirs));
  const Meta& meta = node.core()->executor().meta();
  const ClusterId cluster{raw(meta.cluster) + 1};
  const SimNode& feigned = *nodes_[(node.host() + 1) % nodes_.size()];
  Hello hello;
  hello.cluster = cluster;
  hello.node = shared_.config.members[feigned.host()].id;
  for (const Pin& pin : meta.pins.current) {
    if (pin.node == hello.node) hello.store = pin.store;
  }
  hello.boot = random_.id<BootId>();
  hello.welcome = true;
  hello.pins = meta.pins;
  std::string frames;
  encode_peer(frames, hello, cluster);
  shared_.network.send(*connection, host, std::move(frames));
  DeltaFrame poison;
  poison.number = 1;
  poison.delta = Delta(Commit{1});
  const std::vector<std::string>& keys = ledger_.keys();
  poison.delta.push({keys[random_.below(keys.size())], 0},
                    ShardState{{Cell{random_.id<ActorId>(), Commit{1}, 3, {}, 0}}, 1, 1});
  std::string frame;
  encode_peer(frame, poison, cluster);
  shared_.time.in(milliseconds(50 + random_.below(400)),
                  [this, connection, host, frame = std::move(frame)] {
                    shared_.network.send(*connection, host, frame);
                  });
}

// ---- disks ----

void Nemesis::slow_disk(SimNode& node) {
  const Duration length = upto(6000);
  injected(node, "slow disk", length);
  node.disk().be_slow(upto(3000) + milliseconds(3));
  shared_.time.in(length, [&node] { node.disk().be_slow(milliseconds(3)); });
}

void Nemesis::full_disk(SimNode& node) {
  const Duration length = upto(5000);
  injected(node, "full disk", length);
  node.disk().be_full(true);
  shared_.time.in(length, [&node] { node.disk().be_full(false); });
}

void Nemesis::fail_sync(SimNode& node) {
  injected(node, "failed sync");
  node.disk().fail_next_sync();
}

bool Nemesis::is_whole(std::size_t node) const {
  const NodeCore* core = nodes_[node]->core();
  if (core == nullptr || !core->ready()) return false;
  const StatusReply status = core->status(nodes_[node]->clock().now(), 0);
  return status.state == "ready" &&
         std::all_of(status.peers.begin(), status.peers.end(),
                     [](const PeerStatus& peer) { return peer.state == "up"; });
}

bool Nemesis::may_lose_a_disk() {
  std::size_t unfilled = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    lost_[i] = lost_[i] && !is_whole(i);
    unfilled += lost_[i] ? 1 : 0;
  }
  return unfilled < shared_.config.owners.replication() - shared_.config.owners.majority();
}

void Nemesis::lose_disk(SimNode& node, MemoryDisk by, bool rebuild) {
  node.crash();
  ledger_.on_disk_lost(shared_.time.now());
  lost_[node.host()] = true;
  must_change_[node.host()] = StoreId{};
  node.disk().replace(std::move(by));
  // A copy of the store that this one replaces would be refused for good.
  copies_[node.host()] = MemoryDisk{};
  if (rebuild) node.rebuild();
  restart_later(node);
}

void Nemesis::wipe(SimNode& node) {
  if (!may_lose_a_disk()) return;
  injected(node, "wiped disk");
  lose_disk(node, MemoryDisk{}, true);
}

void Nemesis::restore_copy(SimNode& node) {
  MemoryDisk& copy = copies_[node.host()];
  if (copy.durable.empty() || !may_lose_a_disk()) return;
  const StoreId store = store_on(copy);
  if (store != store_on(node.disk().bytes())) {  // it has another name since: refused for good
    copy = MemoryDisk{};
    return;
  }
  injected(node, "old copy of its disk");
  Commit known{};
  for (SimNode* peer : nodes_) {
    if (peer != &node) known = std::max(known, sighted(peer->disk().bytes(), store));
  }
  const bool behind = known > extent(copy);
  lose_disk(node, std::exchange(copy, {}), false);
  await_notice(node, ledger_.on_copy_back(shared_.time.now()));
  if (random_.below(2) == 0) isolate(node);  // from all who could testify
  if (behind) must_change_[node.host()] = store;
}

// Once it has met all others, whoever knows of later records has said so.
void Nemesis::await_notice(const SimNode& node, std::size_t which) {
  shared_.time.in(milliseconds(20), [this, &node, which] {
    if (!is_whole(node.host())) return await_notice(node, which);
    ledger_.on_copy_noticed(which, shared_.time.now());
  });
}

void Nemesis::flip_bit(SimNode& node) {
  const bool others = may_lose_a_disk() && nodes_.size() > 1;
  if (!others && nodes_.size() > 1) return;
  injected(node, "flipped bit");
  node.crash();
  MemoryDisk sound = node.disk().bytes();
  if (!node.disk().flip_bit()) return;
  if (node.start()) {
    shared_.trace.fail(shared_.time.now(), Invariant::damage_is_refused,
                       node.name() + " opened a store with a flipped bit");
    return;
  }
  shared_.trace.say(shared_.time.now(),
                    [&] { return node.name() + " refuses: " + node.refusal().message(); });
  if (others) {
    lose_disk(node, MemoryDisk{}, true);
  } else {  // nobody could fill it: the operator has the disk read again
    node.disk().replace(std::move(sound));
    restart_later(node);
  }
}

// ---- clocks ----

void Nemesis::jump_clock(SimNode& node) {
  const Duration by = random_.below(3) == 0 ? upto(5000) : hours(1 + random_.below(365 * 24));
  injected(node, "clock jump");
  node.jump_clock(by);
}

std::int64_t Nemesis::draw_ppm() { return static_cast<std::int64_t>(random_.below(1001)) - 500; }

// After a start it may show anything.
void Nemesis::new_clock(SimNode& node) {
  const std::int64_t ppm = draw_ppm();
  const Duration shown = hours(1 + random_.below(2 * 365 * 24));
  node.clock().set(Timeline::kStart + (options_.has(Knob::clock_jumps) ? shown : Duration::zero()),
                   options_.has(Knob::drift) ? ppm : 0);
}

}  // namespace quipu::sim
