#include "tests/cluster/hand_driven.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "tests/cluster/word_decider.h"
#include "tests/storage/load_all.h"

namespace quipu::test {
namespace {

ClusterConfig make_config(const HandDriven::Options& options) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < options.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    const std::uint32_t weight = options.edges.contains(i) ? 0 : 1;
    members.push_back({{}, name, name + ":7401", name + ":7400", {}, weight});
  }
  return std::move(*found_config("test", std::move(members), options.replication));
}

}  // namespace

HandDriven::HandDriven(Options options) : config_(make_config(options)), random_(1) {
  for (std::size_t i = 0; i < options.nodes; ++i) nodes_.emplace_back().settings = options.settings;
  if (!options.start) return;
  start_all();
  connect_all();
  pass(3 * options.settings.gossip_interval);
}

// ---- nodes ----

std::vector<MemberIndex> HandDriven::all() const {
  std::vector<MemberIndex> nodes;
  for (MemberIndex node = 0; node < nodes_.size(); ++node) nodes.push_back(node);
  return nodes;
}

void HandDriven::start_all() {
  for (const MemberIndex node : all()) start(node);
}

void HandDriven::boot(MemberIndex index) {
  Node& node = nodes_[index];
  node.store = std::make_unique<MemoryStore>(node.disk);
  const StoreOwner owner{config_.id, config_.members[index].id};
  if (node.disk.durable.empty() &&
      !initialize(*node.store, new_meta(owner, node.kind, random_)).ok()) {
    throw std::runtime_error("cannot initialize a store");
  }
  const ExecutorOptions options = executor_options(config_, index, node.settings);
  const bool full = node.disk.fault == MemoryDisk::Fault::full;
  auto executor = full ? recover_for_reads(*node.store, owner, options, random_)
                       : recover(*node.store, owner, options, random_);
  if (!executor.ok()) throw std::runtime_error(executor.status().message());
  node.core = std::make_unique<NodeCore>(now_, wall(index), config_, index, node.settings,
                                         std::move(*executor), random_.split(),
                                         full ? Service::reads : Service::all);
  static const WordDecider decider;
  node.core->decide_by(decider);
}

void HandDriven::start(MemberIndex node) {
  boot(node);
  Effects effects;
  nodes_[node].core->on_tick(now_, wall(node), effects);
  perform(node, effects);
  run();
}

void HandDriven::crash(MemberIndex node) {
  nodes_[node].core.reset();
  nodes_[node].writes.clear();
  nodes_[node].stalled = false;
  nodes_[node].loaded.reset();
  for (Link& link : links_) {
    for (int i = 0; i < 2; ++i) {
      if (link.sides[i].node != node || !link.sides[i].open) continue;
      link.sides[i].open = false;
      link.sides[i].inbox.clear();
      link.sides[1 - i].closing = link.sides[1 - i].open;
    }
  }
  run();
}

void HandDriven::wipe(MemberIndex node, NewStore kind) {
  if (running(node)) crash(node);
  nodes_[node].disk = MemoryDisk{};
  nodes_[node].kind = kind;
}

std::uint64_t HandDriven::stat(MemberIndex node, const std::string& name) const {
  for (const Stat& stat : core(node).status(now_, 0).stats) {
    if (stat.name == name) return stat.value;
  }
  throw std::runtime_error("no stat " + name);
}

std::string HandDriven::peer_state(MemberIndex node, MemberIndex peer) const {
  for (const PeerStatus& status : core(node).status(now_, 0).peers) {
    if (status.name == config_.members[peer].name) return status.state;
  }
  return "unknown";
}

bool HandDriven::up(MemberIndex a, MemberIndex b) const {
  return running(a) && running(b) && peer_state(a, b) == "up" && peer_state(b, a) == "up";
}

void HandDriven::begin_closing(MemberIndex node) {
  Effects effects;
  nodes_[node].core->begin_closing(now_, effects);
  perform(node, effects);
  run();
}

// ---- disks ----

void HandDriven::resume(MemberIndex node) {
  nodes_[node].stalled = false;
  run();
}

void HandDriven::fill(MemberIndex node) {
  nodes_[node].stalled = true;
  nodes_[node].core->on_storage_full(true);
}

void HandDriven::make_room(MemberIndex node) {
  nodes_[node].core->on_storage_full(false);
  resume(node);
}

bool HandDriven::write_some(MemberIndex index) {
  Node& node = nodes_[index];
  if (!node.core || node.stalled || node.writes.empty()) return false;
  const Sealed sealed = std::move(node.writes.front());
  node.writes.pop_front();
  if (!node.store->write(sealed.batch).ok()) throw std::runtime_error("the disk failed unasked");
  Effects effects;
  node.core->on_durable(now_, sealed.commit, effects);
  perform(index, effects);
  return true;
}

void HandDriven::release_loads(MemberIndex node) {
  nodes_[node].loads_held = false;
  run();
}

void HandDriven::release_one_load(MemberIndex node) {
  nodes_[node].loads_held = false;
  (void)load_some(node);
  nodes_[node].loads_held = true;
  run();
}

// It was read when it was asked for.
bool HandDriven::load_some(MemberIndex index) {
  Node& node = nodes_[index];
  if (!node.core || node.loads_held || !node.loaded) return false;
  const Loaded loaded = *std::exchange(node.loaded, std::nullopt);
  Effects effects;
  node.core->on_loaded(now_, loaded, effects);
  perform(index, effects);
  return true;
}

// ---- network ----

HandDriven::Link* HandDriven::link_between(MemberIndex a, MemberIndex b) {
  for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
    const Side* sides = link->sides;
    if (!sides[0].open || !sides[1].open) continue;
    if ((sides[0].node == a && sides[1].node == b) || (sides[0].node == b && sides[1].node == a))
      return &*link;
  }
  return nullptr;
}

void HandDriven::connect(MemberIndex a, MemberIndex b) {
  if (!core(a).dials(b)) std::swap(a, b);
  Link& link = links_.emplace_back();
  link.sides[0] = {a, LinkId{next_link_++}, {}};
  link.sides[1] = {b, LinkId{next_link_++}, {}};
  for (int i = 0; i < 2; ++i) {
    Effects effects;
    const Side& side = link.sides[i];
    nodes_[side.node].core->on_link_open(now_, side.id, i == 0 ? std::optional(b) : std::nullopt,
                                         effects);
    perform(side.node, effects);
  }
  run();
}

void HandDriven::connect(MemberIndex node) {
  for (MemberIndex peer = 0; peer < nodes_.size(); ++peer) {
    if (peer != node && running(peer) && link_between(node, peer) == nullptr) connect(node, peer);
  }
}

void HandDriven::connect_all() {
  for (MemberIndex node = 0; node < nodes_.size(); ++node) {
    if (running(node)) connect(node);
  }
}

void HandDriven::close(Side& side) {
  side.open = side.closing = false;
  side.inbox.clear();
  if (!running(side.node)) return;
  Effects effects;
  nodes_[side.node].core->on_link_closed(now_, side.id, effects);
  perform(side.node, effects);
}

void HandDriven::cut(MemberIndex a, MemberIndex b) {
  while (Link* link = link_between(a, b)) {
    for (Side& side : link->sides) close(side);
  }
  run();
}

void HandDriven::cut_off(MemberIndex node) {
  for (MemberIndex peer = 0; peer < nodes_.size(); ++peer) {
    if (peer != node) cut(node, peer);
  }
}

void HandDriven::lose_side(MemberIndex node, MemberIndex peer) {
  Link* link = link_between(node, peer);
  for (Side& side : link->sides) {
    if (side.node == node) close(side);
  }
  run();
}

void HandDriven::release(MemberIndex from, MemberIndex to) {
  held_.erase({from, to});
  run();
}

void HandDriven::hold_link(MemberIndex from, MemberIndex to) {
  for (Side& side : link_between(from, to)->sides) side.held |= side.node == to;
}

void HandDriven::release_links() {
  for (Link& link : links_) link.sides[0].held = link.sides[1].held = false;
  run();
}

void HandDriven::forge(MemberIndex from, MemberIndex to, const PeerMessage& message,
                       FrameVersion version) {
  Link* link = link_between(from, to);
  Side& side = link->sides[link->sides[0].node == to ? 0 : 1];
  encode_peer(side.inbox.emplace_back(), message, config_.id, version);
  run();
}

bool HandDriven::deliver_some(Link& link, int index) {
  Side& to = link.sides[index];
  const Side& from = link.sides[1 - index];
  if (!to.open || to.inbox.empty()) return false;
  if (to.held || held_.contains({from.node, to.node})) return false;
  std::string bytes = std::move(to.inbox.front());
  to.inbox.pop_front();
  FrameDecoder decoder;
  const auto decode = [&](const std::string& frame) {
    std::memcpy(decoder.prepare(frame.size()).data(), frame.data(), frame.size());
    decoder.commit(frame.size());
    return decoder.next(raw(config_.id)).value().value();
  };
  FrameDecoder::Frame frame = decode(bytes);
  if (meddler_) {
    PeerMessage message = std::move(decode_peer(frame.type, frame.payload, frame.version).value());
    if (meddler_(from.node, to.node, message) == Fate::drop) return true;
    bytes.clear();
    encode_peer(bytes, message, config_.id, frame.version);
    decoder = FrameDecoder{};
    frame = decode(bytes);
  }
  ++traffic_[frame.type];
  if (watcher_) watcher_(from.node, to.node, frame);
  Effects effects;
  nodes_[to.node].core->on_link_frame(now_, to.id, frame, effects);
  perform(to.node, effects);
  return true;
}

// The other side learns it after what was sent before has arrived.
bool HandDriven::close_some(Link& link) {
  for (int i = 0; i < 2; ++i) {
    Side& side = link.sides[i];
    Side& other = link.sides[1 - i];
    if (!side.open || !side.closing || side.held) continue;
    close(side);
    other.closing = other.open;
    return true;
  }
  return false;
}

// ---- effects ----

void HandDriven::perform(MemberIndex index, Effects& effects) {
  Node& node = nodes_[index];
  for (Sealed& sealed : effects.writes) node.writes.push_back(std::move(sealed));
  if (effects.load) {
    if (node.loaded) throw std::runtime_error("a second load while one is under way");
    auto loaded = load_all(*node.store, node.core->executor().map().placement_key(),
                           std::move(*effects.load));
    if (!loaded.ok()) throw std::runtime_error(loaded.status().message());
    node.loaded = std::move(*loaded);
  }
  for (Effects::Send& send : effects.sends) {
    for (Link& link : links_) {
      for (int i = 0; i < 2; ++i) {
        if (link.sides[i].id != send.link || !link.sides[i].open || !link.sides[1 - i].open)
          continue;
        link.sides[1 - i].inbox.push_back(send.frame);
      }
    }
  }
  for (const Effects::Close& closed : effects.closes) {
    for (Link& link : links_) {
      for (Side& side : link.sides)
        side.closing = side.closing || (side.open && side.id == closed.link);
    }
  }
  for (Effects::Reply& reply : effects.replies) {
    if (const auto* done = std::get_if<Done>(&reply.answer)) {
      if (!done_.emplace(done->id, *done).second)
        throw std::runtime_error("an op was answered twice");
    } else if (const auto* keys = std::get_if<Keys>(&reply.answer)) {
      if (!keys_.emplace(keys->id, *keys).second)
        throw std::runtime_error("a list was answered twice");
    } else if (const auto* sized = std::get_if<KeyCount>(&reply.answer)) {
      if (!sized_.emplace(sized->id, *sized).second)
        throw std::runtime_error("a size was answered twice");
    } else if (const auto* range = std::get_if<RangeReply>(&reply.answer)) {
      if (!ranged_.emplace(range->id, *range).second)
        throw std::runtime_error("a range was answered twice");
    } else if (const auto* query = std::get_if<QueryReply>(&reply.answer)) {
      if (!queried_.emplace(query->id, *query).second)
        throw std::runtime_error("a query was answered twice");
    } else if (const auto* changed = std::get_if<NamespaceReply>(&reply.answer)) {
      if (!namespaces_.emplace(changed->id, *changed).second)
        throw std::runtime_error("a change of a namespace was answered twice");
    } else {
      const Values& values = std::get<Values>(reply.answer);
      if (!values_.emplace(values.id, values.values.at(0)).second)
        throw std::runtime_error("a read was answered twice");
    }
  }
  if (!effects.restart) return;
  ++node.restarts;
  crash(index);
  start(index);
}

void HandDriven::run() {
  constexpr std::size_t kMany = 50'000;
  for (std::size_t steps = 0; steps < kMany; ++steps) {
    bool busy = false;
    for (MemberIndex node = 0; node < nodes_.size(); ++node)
      busy |= write_some(node) || load_some(node);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      for (int side = 0; side < 2; ++side) busy |= deliver_some(links_[i], side);
    }
    if (busy) continue;
    for (std::size_t i = 0; i < links_.size(); ++i) busy |= close_some(links_[i]);
    if (!busy) return;
  }
  throw std::runtime_error("the nodes do not come to rest");
}

Wall HandDriven::wall(MemberIndex node) const {
  constexpr auto kStarted = 1'700'000'000s;
  return Wall(kStarted + nodes_[node].clock_ahead +
              std::chrono::floor<Wall::duration>(now_.time_since_epoch()));
}

void HandDriven::set_clock(MemberIndex node, Wall wall) {
  nodes_[node].clock_ahead += wall - this->wall(node);
  if (!running(node)) return;
  Effects effects;
  nodes_[node].core->on_tick(now_, wall, effects);
  perform(node, effects);
}

void HandDriven::pass(Duration duration) {
  const Instant end = now_ + duration;
  for (;;) {
    Instant next = end;
    for (const Node& node : nodes_) {
      if (node.core) next = std::min(next, std::max(node.core->deadline(), now_));
    }
    now_ = next;
    bool ticked = false;
    for (MemberIndex index = 0; index < nodes_.size(); ++index) {
      if (!running(index) || core(index).deadline() > now_) continue;
      ticked = true;
      Effects effects;
      nodes_[index].core->on_tick(now_, wall(index), effects);
      perform(index, effects);
      if (running(index) && core(index).deadline() <= now_)
        throw std::runtime_error("a tick did not move the deadline");
    }
    run();
    if (!ticked && now_ == end) return;
  }
}

}  // namespace quipu::test
