// nemesis_disks.cpp: disks that are slow or full, lose what they held, or come back older.
#include <algorithm>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"
#include "tests/simulator/nemesis.h"

namespace quipu::sim {
namespace {

StoreId store_on(const MemoryDisk& disk) {
  const auto meta = disk.durable.find(stored::meta());
  if (meta == disk.durable.end()) return {};
  return decode_meta(meta->first, meta->second)->store;
}

// The newest record that is on it.
Commit extent(const MemoryDisk& disk) {
  Commit newest{};
  for (const auto& [key, value] : disk.durable) {
    if (const auto commit = stored::parse_record(key)) newest = std::max(newest, *commit);
  }
  return newest;
}

}  // namespace

using std::chrono::milliseconds;

// Clients reach a node so long, and it has time to start and to stop waiting for the others.
constexpr Duration kLong = milliseconds(3000);

void Nemesis::slow_disk(SimNode& node) {
  const Duration length = upto(6000);
  injected(node, "slow disk", length);
  node.disk().be_slow(upto(3000) + kUsualSync);
  Instant& until = slow_until_[node.host()];
  until = std::max(until, shared_.time.now() + length);
  shared_.time.in(length, [this, &node, &until] {
    if (shared_.time.now() >= until) node.disk().be_slow(kUsualSync);
  });
}

void Nemesis::full_disk(SimNode& node) {
  const Duration length = upto(5000);
  injected(node, "full disk", length);
  node.disk().be_full(true);
  Instant& until = full_until_[node.host()];
  until = std::max(until, shared_.time.now() + length);
  shared_.time.in(length, [this, &node, &until] {
    if (shared_.time.now() >= until) node.disk().be_full(false);
  });
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
  if (swapped_) return false;
  std::size_t unfilled = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    lost_[i] = lost_[i] && !is_whole(i);
    unfilled += lost_[i] ? 1 : 0;
  }
  return unfilled < spare_disks();
}

std::size_t Nemesis::spare_disks() const {
  return shared_.config.owners.replication() - shared_.config.owners.majority();
}

std::vector<SimNode*> Nemesis::shuffled_others(const SimNode& node) {
  std::vector<SimNode*> others = nodes_;
  std::erase(others, &node);
  for (std::size_t i = others.size(); i > 1; --i)
    std::swap(others[i - 1], others[random_.below(i)]);
  return others;
}

void Nemesis::lose_disk(SimNode& node, MemoryDisk by, bool rebuild) {
  node.crash();
  ledger_.on_disk_lost(shared_.time.now(), node.member());
  lost_[node.host()] = true;
  away_[node.host()] = {};
  for (Away& away : away_) std::erase(away.witnesses, node.member());
  node.disk().replace(std::move(by));
  if (rebuild) node.rebuild();
  restart_later(node);
}

// First some miss the last words of those whose disks are lost, and then may hear of them
// from nobody.
void Nemesis::wipe(SimNode& node) {
  if (random_.below(2) == 0) return lose_all(node);
  std::vector<SimNode*> struck{&node}, others = shuffled_others(node);
  while (struck.size() < spare_disks() && others.size() > 1 && random_.below(2) == 0) {
    struck.push_back(others.back());
    others.pop_back();
  }
  const std::size_t most = std::max<std::size_t>(others.size(), 2) - 1;
  const std::size_t unaware = std::min(others.size(), 1 + random_.below(most));
  for (std::size_t i = 0; i < unaware; ++i) isolate(*others[i], all_, upto(800));
  others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(unaware));
  shared_.time.in(upto(800), [this, struck = std::move(struck), aware = std::move(others)] {
    if (!active_) return;
    shared_.network.heal();
    const bool silent = random_.below(2) == 0;
    for (std::size_t i = 0; silent && i < aware.size(); ++i) isolate(*aware[i], all_, kLong);
    for (SimNode* one : struck) lose_all(*one);
  });
}

// A node alone hears the last words of another, whose disk is lost. The rest fill the replacement
// while it is away, and one of them is the first to tell it: what the lost disk had acked to
// it may be on no majority. Where two are lost, the rest are too few to fill them.
void Nemesis::replace_unseen(SimNode& node) {
  std::vector<SimNode*> rest = shuffled_others(node);
  if (rest.size() < 3 || spare_disks() == 0 || !node.running()) return wipe(node);
  const std::size_t most = std::min(spare_disks(), std::size_t{2});
  std::vector<SimNode*> lost;
  for (std::size_t left = 1 + random_.below(most); left > 0; --left) {
    lost.push_back(rest.back());
    rest.pop_back();
  }
  std::vector<MemberIndex> unaware;
  for (const SimNode* one : rest) unaware.push_back(one->member());
  undisturbed_until_ = shared_.time.now() + kLong;
  isolate(node, unaware, kLong);
  if (on_favoured_) on_favoured_(node.member(), node.core()->executor().meta().store);
  shared_.time.in(upto(800), [this, &node, lost = std::move(lost), first = unaware.front()] {
    if (!active_ || !may_lose_a_disk()) return;
    isolate(node, all_, 2 * kLong);
    for (SimNode* one : lost) lose_all(*one);
    return_to_one(node, lost, first);
  });
}

void Nemesis::return_to_one(SimNode& node, const std::vector<SimNode*>& replaced,
                            MemberIndex first) {
  shared_.time.in(milliseconds(20), [this, &node, replaced, first] {
    if (!active_ || shared_.network.reachable(node.host(), first)) return;  // it is back
    const auto filled = [](const SimNode* one) {
      return one->running() && one->core()->view().whole();
    };
    if (!std::ranges::all_of(replaced, filled)) return return_to_one(node, replaced, first);
    injected(node, "missed replacement");
    std::vector<MemberIndex> others = all_;
    std::erase(others, first);
    shared_.network.heal();
    isolate(node, others, upto(1500));
  });
}

void Nemesis::lose_all(SimNode& node) {
  if (!may_lose_a_disk()) return;
  injected(node, "wiped disk");
  node.crash();
  // One that was not filled yet may be known to nobody: put in later, it would be taken for good.
  MemoryDisk old = lost_[node.host()] ? MemoryDisk{} : node.disk().bytes();
  lose_disk(node, MemoryDisk{}, true);
  strike_when_whole(node, std::move(old));
}

// Once all know of the new store and have filled it, it goes back itself, or the old disk is
// put in by mistake.
void Nemesis::strike_when_whole(SimNode& node, MemoryDisk old) {
  shared_.time.in(milliseconds(100), [this, &node, old = std::move(old)]() mutable {
    if (!active_) return;
    if (!is_whole(node.host()) || !may_lose_a_disk())
      return strike_when_whole(node, std::move(old));
    const std::uint64_t draw = random_.below(3);
    if (draw == 0 && options_.has(Knob::old_copies)) swap_disks(node, std::move(old));
    if (draw == 1 && options_.has(Knob::lost_tails)) lose_tail(node);
    if (draw == 2 && options_.has(Knob::relays)) {
      take_copy(node.host());
      shared_.time.in(upto(800), [this, &node] {
        if (active_) relay(node);
      });
    }
  });
}

// Some miss the last changes, and are back just as those who have them are struck or cut off:
// whoever answers then must know what it does not know.
void Nemesis::relay(SimNode& node) {
  std::vector<SimNode*> others = shuffled_others(node);
  if (others.size() < 2) return;
  injected(node, "relay");
  const std::size_t laggards = 1 + random_.below((nodes_.size() + 1) / 2);
  for (std::size_t i = 0; i < laggards; ++i) isolate(*others[i], all_, kLong);
  others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(laggards));
  shared_.time.in(upto(400), [this, &node, others = std::move(others)] {
    if (!active_) return;
    const std::size_t struck = random_.below(others.size() + 1);
    strike_down(node);
    for (std::size_t i = 0; i < struck; ++i) strike_down(*others[i]);
    shared_.network.heal();
    for (std::size_t i = struck; i < others.size(); ++i) isolate(*others[i], all_, kLong);
  });
}

void Nemesis::strike_down(SimNode& node) {
  const std::uint64_t draw = random_.below(4);
  if (draw == 0 && options_.has(Knob::wipes)) return lose_all(node);
  if (draw == 1 && options_.has(Knob::lost_tails)) return lose_tail(node);
  if (draw != 2 && options_.has(Knob::old_copies)) return restore_copy(node);
  crash(node);
}

void Nemesis::rebuild_refused() {
  for (SimNode* node : nodes_) {
    if (!lost_[node->host()] || !node->running() || !node->core()->view().retired()) continue;
    injected(*node, "disk rebuilt again");
    lose_disk(*node, MemoryDisk{}, true);
  }
}

void Nemesis::restore_copy(SimNode& node) {
  MemoryDisk& copy = copies_[node.host()];
  if (copy.durable.empty() || !may_lose_a_disk()) return;
  if (store_on(copy) == store_on(node.disk().bytes())) {
    go_back(node, std::exchange(copy, {}), "old copy of its disk");
  } else {  // it has another name since
    copy = MemoryDisk{};
  }
}

// The wrong disk is put in, whose store was replaced, as all others know. What it acks
// before it learns of that goes with it when the right one is back.
void Nemesis::swap_disks(SimNode& node, MemoryDisk replaced) {
  const StoreId store = store_on(replaced);
  if (store == StoreId{}) return;  // lost before it held one: the next would be taken for good
  injected(node, "disk that was replaced");
  node.crash();
  ledger_.on_disk_lost(shared_.time.now(), node.member());
  swapped_ = Swapped{&node, node.disk().bytes()};
  node.disk().replace(std::move(replaced));
  restart_later(node);
  if (random_.below(2) == 0) isolate(node, all_, kLong);
  if (on_favoured_) on_favoured_(node.member(), store);
  watch_swapped();
  shared_.time.in(upto(8000), [this] { swap_back(); });
}

void Nemesis::watch_swapped() {
  if (!swapped_) return;
  const SimNode& node = *swapped_->node;
  const bool serves = node.running() && node.core()->ready();
  const auto told = [](const PeerStatus& peer) {
    return peer.state.find("this node's store is not") != std::string::npos;
  };
  if (serves && std::ranges::any_of(node.core()->status(node.clock().now(), 0).peers, told)) {
    shared_.trace.fail(shared_.time.now(), Invariant::replaced_store_ends,
                       node.name() + " goes on with a store that it was told is replaced");
  }
  shared_.time.in(milliseconds(100), [this] { watch_swapped(); });
}

void Nemesis::swap_back() {
  if (!swapped_) return;
  SimNode& node = *swapped_->node;
  node.crash();
  ledger_.on_disk_lost(shared_.time.now(), node.member());
  node.disk().replace(std::move(swapped_->right));
  swapped_.reset();
  restart_later(node);
}

// A disk whose syncs lied, or a file system that was cut short.
void Nemesis::lose_tail(SimNode& node) {
  const std::size_t writes = 1 + random_.below(kTail);
  if (!options_.has(Knob::unheard_tails) || nodes_.size() < 3) return drop_tail(node, writes);
  std::vector<MemberIndex> unaware = all_;
  std::erase(unaware, node.member());
  const MemberIndex witness = unaware[random_.below(unaware.size())];
  std::erase(unaware, witness);
  isolate(node, unaware, upto(800));
  isolate(*nodes_[witness], unaware, upto(800));
  drop_unheard_tail(node, witness, shared_.time.now() + upto(800));
}

// Once one has heard of it, who is then out of reach. The others have not, and say in good
// faith that nothing is lost.
void Nemesis::drop_unheard_tail(SimNode& node, MemberIndex witness, Instant latest) {
  shared_.time.in(milliseconds(2), [this, &node, witness, latest] {
    if (!active_ || !node.running()) return;
    const Executor& executor = node.core()->executor();
    const Commit heard = shared_.oracle.seen(witness, executor.meta().store);
    const bool in_tail = raw(heard) + kTail > raw(executor.sealed());
    if (!in_tail && shared_.time.now() < latest) return drop_unheard_tail(node, witness, latest);
    shared_.network.heal();
    drop_tail(node, kTail);
    isolate(*nodes_[witness], all_, kLong);
  });
}

// The newest first.
std::vector<std::string> Nemesis::newest_keys_of(const SimNode& node, const SimNode& not_of) const {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> found;
  const std::vector<std::string>& keys = ledger_.keys();
  for (auto key = keys.rbegin(); key != keys.rend() && found.size() < kMost; ++key) {
    const Partition home = Placement{shared_.oracle.placement(), {*key, 0}}.partition();
    const auto& owners = shared_.config.owners;
    if (owners.owns(node.member(), home) && !owners.owns(not_of.member(), home))
      found.push_back(*key);
  }
  return found;
}

// Only one node knows of what a disk loses. It neither owns nor keeps it, but collects it for a
// strong read that does not end yet. The owners know of nothing that was lost, so the node that
// lost it goes on with adds. Only then does the reader reach them again.
void Nemesis::lose_what_was_read(SimNode& node) {
  std::vector<SimNode*> others = shuffled_others(node);
  const auto reads = [&](const SimNode* one) {
    return one->running() && !newest_keys_of(node, *one).empty();
  };
  const auto found = std::ranges::find_if(others, reads);
  if (!node.running() || found == others.end() || !may_lose_a_disk()) return;
  SimNode& reader = **found;
  std::vector<MemberIndex> unaware = all_;
  std::erase(unaware, node.member());
  std::erase(unaware, reader.member());
  undisturbed_until_ = shared_.time.now() + kLong;
  isolate(node, unaware, kLong);
  isolate(reader, unaware, kLong);
  MemoryDisk older = node.disk().bytes();
  shared_.time.in(upto(1000), [this, &node, &reader, older = std::move(older)]() mutable {
    if (!active_ || !node.running() || !reader.running()) return;
    reader.ask_strongly(newest_keys_of(node, reader), 2 * kLong);
    shared_.time.in(upto(100), [this, &node, &reader, older = std::move(older)]() mutable {
      if (active_) go_back_unheard(node, reader, std::move(older));
    });
  });
}

void Nemesis::go_back_unheard(SimNode& node, SimNode& reader, MemoryDisk older) {
  if (!may_lose_a_disk() || store_on(older) != store_on(node.disk().bytes())) return;
  (void)put_back(node, std::move(older), "lost records that were read");
  shared_.network.heal();
  isolate(reader, all_, 2 * kLong);
  shared_.time.in(upto(100), [this, &node] {
    if (active_) restart(node);
  });
  let_reader_write(node, reader, shared_.time.now() + kLong);
}

void Nemesis::let_reader_write(const SimNode& node, const SimNode& reader, Instant latest) {
  shared_.time.in(milliseconds(20), [this, &node, &reader, latest] {
    if (!active_ || shared_.time.now() > latest) return;
    if (!node.running() || !node.core()->ready()) return let_reader_write(node, reader, latest);
    shared_.time.in(upto(500), [this, &node, &reader] {
      if (!active_) return;
      shared_.network.heal();
      isolate(reader, {node.member()}, kLong);
    });
  });
}

void Nemesis::drop_tail(SimNode& node, std::size_t writes) {
  if (!may_lose_a_disk()) return;
  node.crash();
  restart_later(node);
  MemoryDisk shorter = node.disk().without_tail(writes);
  if (shorter.durable == node.disk().bytes().durable ||
      store_on(shorter) != store_on(node.disk().bytes()))
    return;
  go_back(node, std::move(shorter), "lost tail of its disk");
}

void Nemesis::go_back(SimNode& node, MemoryDisk older, const char* kind) {
  const std::vector<MemberIndex> witnesses = put_back(node, std::move(older), kind);
  if (const std::uint64_t draw = random_.below(3); draw > 0)
    isolate(node, draw == 1 ? witnesses : all_, kLong);  // from who could testify
}

// Returns who has cells of records that it lacks.
std::vector<MemberIndex> Nemesis::put_back(SimNode& node, MemoryDisk older, const char* kind) {
  injected(node, kind);
  const StoreId store = store_on(older);
  std::vector<MemberIndex> witnesses;
  for (const SimNode* peer : nodes_) {
    if (peer != &node && shared_.oracle.seen(peer->member(), store) > extent(older))
      witnesses.push_back(peer->member());
  }
  lose_disk(node, std::move(older), false);
  away_[node.host()] = {store, witnesses};
  await_notice(node, ledger_.on_copy_back(shared_.time.now()));
  if (on_favoured_) on_favoured_(node.member(), store);
  return witnesses;
}

// It goes by another name, or has met all others: whoever knows of later records has said so.
void Nemesis::await_notice(const SimNode& node, std::size_t which) {
  shared_.time.in(milliseconds(20), [this, &node, which] {
    const bool renamed = store_on(nodes_[node.host()]->disk().bytes()) != away_[node.host()].store;
    if (!renamed && !is_whole(node.host())) return await_notice(node, which);
    if (!renamed) check_identity(node);
    ledger_.on_copy_noticed(which, shared_.time.now(), renamed);
  });
}

void Nemesis::check_identity(const SimNode& node) const {
  const Away& away = away_[node.host()];
  if (away.witnesses.empty() || node.core()->executor().meta().store != away.store) return;
  shared_.trace.fail(shared_.time.now(), Invariant::old_copy_is_noticed,
                     node.name() + " runs on an older state of its disk, " +
                         nodes_[away.witnesses.front()]->name() +
                         " has cells of later records, and it still goes by the same store id");
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

}  // namespace quipu::sim
