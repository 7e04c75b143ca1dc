// nemesis_network.cpp: cuts, and callers from elsewhere.
#include "tests/simulator/nemesis.h"

namespace quipu::sim {

using std::chrono::milliseconds;

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

// Clients are on both sides.
void Nemesis::split(SimNode& node) {
  injected(node, "split");
  std::vector<bool> left(hosts_);
  for (HostId host = 0; host < hosts_; ++host) left[host] = random_.below(2) == 0;
  for (HostId from = 0; from < hosts_; ++from) {
    for (HostId to = 0; to < hosts_; ++to) {
      if (left[from] != left[to]) shared_.network.cut(from, to);
    }
  }
  heal_network_later();
}

// Whom one node reaches, another may not, nor be reached by.
void Nemesis::tear(SimNode& node) {
  injected(node, "tear");
  for (HostId from = 0; from < nodes_.size(); ++from) {
    for (HostId to = 0; to < nodes_.size(); ++to) {
      if (from != to && random_.below(3) == 0) shared_.network.cut(from, to);
    }
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

void Nemesis::isolate(const SimNode& node, const std::vector<MemberIndex>& from, Duration least) {
  for (const MemberIndex other : from) {
    if (nodes_[other] == &node) continue;
    shared_.network.cut(node.host(), nodes_[other]->host());
    shared_.network.cut(nodes_[other]->host(), node.host());
  }
  shared_.trace.say(shared_.time.now(), [&] {
    std::string text = "*** " + node.name() + " is cut off from";
    for (const MemberIndex other : from) {
      if (nodes_[other] != &node) text += " " + nodes_[other]->name();
    }
    return text;
  });
  heal_network_later(least);
}

void Nemesis::heal_network_later(Duration least) {
  shared_.time.in(least + upto(random_.below(2) == 0 ? 7000 : 500), [this, mine = ++cuts_] {
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

}  // namespace quipu::sim
