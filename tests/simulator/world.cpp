#include "tests/simulator/world.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <variant>

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

NetworkFaults network_faults(const WorldOptions& options) {
  NetworkFaults faults;
  faults.break_rate = options.breaks ? 0.001 : 0;
  return faults;
}

ClusterConfig make_config(std::size_t nodes) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    members.push_back({node_id(name), name, name + ":7401", name + ":7400", "", 1});
  }
  return found_config("sim", members, 3).value();
}

NodeSettings make_settings(const WorldOptions& options) {
  NodeSettings settings;
  settings.repair_interval = seconds(3);
  if (options.small_outbox) settings.outbox_shards = 3;
  if (options.small_checkpoint) {
    settings.checkpoint.journal_bytes = 4096;
    settings.checkpoint.slice_states = 5;
    settings.checkpoint.cut_records = 7;
  }
  return settings;
}

}  // namespace

WorldOptions WorldOptions::draw(std::uint64_t seed) {
  Random random(seed);
  const auto coin = [&] { return random.below(2) == 0; };
  WorldOptions options;
  options.seed = seed;
  options.nodes = random.below(4) == 0 ? 5 : 3;
  options.crashes = coin();
  options.cuts = coin();
  options.breaks = coin();
  options.loses_disk = random.below(4) == 0;
  options.restores_copy = !options.loses_disk && random.below(4) == 0;
  options.small_outbox = coin();
  options.small_checkpoint = coin();
  options.shards = coin();
  return options;
}

std::string WorldOptions::describe() const {
  std::string text = std::to_string(nodes) + " nodes";
  const auto add = [&](bool on, const char* name) { text += on ? std::string(", ") + name : ""; };
  add(crashes, "crashes");
  add(cuts, "cuts");
  add(breaks, "broken connections");
  add(loses_disk, "a lost disk");
  add(restores_copy, "a disk restored from a copy");
  add(small_outbox, "small outboxes");
  add(small_checkpoint, "small checkpoints");
  add(shards, "raised shards");
  return text;
}

struct World::SimClient {
  struct Connection {
    ConnId conn{};
    FrameDecoder decoder;
  };
  struct Call {
    std::optional<Ledger::AddId> add;
    std::optional<Ledger::ReadId> read;
  };
  HostId host = 0;
  std::unique_ptr<ClientCore> core;
  std::map<ConnectionId, Connection> connections;
  std::map<CallId, Call> calls;
  std::uint64_t next_call = 1;
  Instant armed = kNever;
};

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed ^ 0x5eedU),
      network_(time_, random_.split(), network_faults(options)),
      config_(make_config(options.nodes)),
      settings_(make_settings(options)) {
  std::vector<SimNode*> all;
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    nodes_.push_back(std::make_unique<SimNode>(time_, network_, config_, i, settings_, DiskFaults{},
                                               random_.split()));
    all.push_back(nodes_.back().get());
  }
  for (auto& node : nodes_) node->meet(all);
  for (std::size_t i = 0; i < options.clients; ++i) {
    auto client = std::make_unique<SimClient>();
    client->host = nodes_.size() + i;
    ClientSettings settings;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      settings.seeds.push_back(config_.members[(i + n) % nodes_.size()].client_address);
    }
    client->core = std::make_unique<ClientCore>(settings, random_.split());
    clients_.push_back(std::move(client));
  }
}

World::~World() = default;

void World::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

std::string World::run() {
  for (auto& node : nodes_) node->start();
  for (auto& client : clients_) {
    ClientEffects effects;
    client->core->on_tick(time_.now(), effects);
    perform(*client, effects);
  }
  time_.run(time_.now() + seconds(3));
  if (!everybody_ready()) return "founding: some node was not ready after 3 s without faults";

  tormenting_ = true;
  for (auto& client : clients_) work(*client);
  torment();
  time_.run(time_.now() + options_.torment);
  tormenting_ = false;
  heal();
  time_.run(time_.now() + seconds(30));
  check_converged();
  return failure_;
}

bool World::everybody_ready() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->running() && node->core()->ready(); });
}

// ---- clients ----

void World::connect(SimClient& client, ConnectionId connection, const std::string& address) {
  const auto member =
      std::find_if(config_.members.begin(), config_.members.end(),
                   [&](const Member& one) { return one.client_address == address; });
  SimNode& node = *nodes_[static_cast<std::size_t>(member - config_.members.begin())];
  time_.in(milliseconds(1), [this, &client, connection, &node] {
    ClientEffects effects;
    const auto conn = std::make_shared<ConnId>();
    std::optional<Ears> theirs;
    if (network_.reachable(client.host, node.host()))
      theirs = node.accept_client([conn] { return *conn; });
    if (!theirs) {
      client.core->on_closed(time_.now(), connection, "refused", effects);
      perform(client, effects);
      return;
    }
    const auto on_bytes = [this, &client, connection](const std::string& bytes) {
      const auto at = client.connections.find(connection);
      if (at == client.connections.end()) return;
      std::memcpy(at->second.decoder.prepare(bytes.size()).data(), bytes.data(), bytes.size());
      at->second.decoder.commit(bytes.size());
      ClientEffects done;
      for (auto here = client.connections.find(connection); here != client.connections.end();
           here = client.connections.find(connection)) {
        const auto frame = here->second.decoder.next();
        if (!frame.ok() || !*frame) break;
        client.core->on_frame(time_.now(), connection, (*frame)->type, (*frame)->payload, done);
      }
      perform(client, done);
    };
    const auto on_closed = [this, &client, connection] {
      if (client.connections.erase(connection) == 0) return;
      ClientEffects done;
      client.core->on_closed(time_.now(), connection, "closed", done);
      perform(client, done);
    };
    *conn = network_.connect(client.host, {on_bytes, on_closed}, node.host(), std::move(*theirs));
    client.connections[connection].conn = *conn;
    client.core->on_connected(time_.now(), connection, effects);
    perform(client, effects);
  });
}

void World::perform(SimClient& client, ClientEffects& effects) {
  for (ClientEffects::Send& send : effects.sends) {
    const auto at = client.connections.find(send.connection);
    if (at != client.connections.end())
      network_.send(at->second.conn, client.host, std::move(send.frames));
  }
  for (const ConnectionId connection : effects.closes) {
    const auto at = client.connections.find(connection);
    if (at == client.connections.end()) continue;
    network_.close(at->second.conn, client.host);
    client.connections.erase(at);
  }
  for (const auto& connect_to : effects.connects)
    connect(client, connect_to.connection, connect_to.address);
  for (const auto& [call, answer] : effects.completions) complete(client, call, answer);
  arm(client);
}

void World::arm(SimClient& client) {
  const Instant deadline =
      std::max(client.core->deadline(), time_.now() + std::chrono::microseconds(1));
  if (deadline >= client.armed) return;
  client.armed = deadline;
  time_.at(deadline, [this, &client, deadline] {
    if (client.armed != deadline) return;
    client.armed = kNever;
    ClientEffects effects;
    client.core->on_tick(time_.now(), effects);
    perform(client, effects);
  });
}

void World::work(SimClient& client) {
  if (!tormenting_) return;
  ClientEffects effects;
  const CallId call{client.next_call++};
  SimClient::Call& record = client.calls[call];
  const std::vector<std::string> keys = ledger_.keys();
  if (random_.below(5) == 0 && !keys.empty()) {
    const std::string key =
        keys[keys.size() - 1 - random_.below(std::min<std::size_t>(3, keys.size()))];
    record.read = ledger_.begin_strong_read(key);
    client.core->read(time_.now(), call, {{key}, ReadLevel::strong, seconds(3)}, effects);
  } else if (options_.shards && random_.below(40) == 0 && !keys.empty()) {
    client.core->raise(
        time_.now(), call,
        {keys.back(), static_cast<std::int64_t>(2 + random_.below(5)), Ack::disk, seconds(3)},
        effects);
  } else {
    const Ack ack{static_cast<std::uint8_t>(random_.below(3))};
    record.add = ledger_.begin_add(time_.now(), ack);
    client.core->add(time_.now(), call,
                     {record.add->key, Ledger::amount(record.add->digit), ack,
                      seconds(2 + static_cast<int>(random_.below(10)))},
                     effects);
  }
  perform(client, effects);
  time_.in(Duration(static_cast<std::int64_t>(random_.below(30'000'000))),
           [this, &client] { work(client); });
}

void World::complete(SimClient& client, CallId call, const ClientAnswer& answer) {
  const auto at = client.calls.find(call);
  if (at == client.calls.end()) {
    fail("a call was answered twice");
    return;
  }
  const SimClient::Call record = std::move(at->second);
  client.calls.erase(at);
  if (record.add) {
    const Status& status = std::get<Status>(answer);
    trace_ = trace_ * 31 + static_cast<std::uint64_t>(status.code()) + 1;
    ledger_.end_add(*record.add, time_.now(), status);
  } else if (record.read) {
    if (std::holds_alternative<Status>(answer)) return;  // no quorum, or no connection
    const Value& value = std::get<Values>(answer).values.front();
    trace_ = trace_ * 31 + static_cast<std::uint64_t>(value.value);
    if (value.code != Code::ok) return;
    if (std::string wrong = ledger_.end_strong_read(*record.read, value.value); !wrong.empty())
      fail(std::move(wrong));
  }
}

// ---- faults ----

void World::torment() {
  if (!tormenting_) return;
  check_bounds();
  const std::size_t node = random_.below(nodes_.size());
  switch (random_.below(5)) {
    case 0:
    case 1:
      if (options_.crashes) crash_and_restart(node);
      break;
    case 2:
      if (options_.cuts) cut_off(node);
      break;
    case 3:
      if (options_.loses_disk && !disk_lost_) lose_disk(node);
      if (options_.restores_copy && !disk_lost_) restore_copy(node);
      break;
    default:
      if (options_.crashes && random_.below(4) == 0) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) crash_and_restart(i);
      }
  }
  time_.in(milliseconds(200 + random_.below(2000)), [this] { torment(); });
}

void World::crash_and_restart(std::size_t node) {
  if (!nodes_[node]->running()) return;
  ++crashes_;
  nodes_[node]->crash();
  time_.in(milliseconds(random_.below(4000)), [this, node] {
    if (!nodes_[node]->running()) nodes_[node]->start();
  });
}

void World::cut_off(std::size_t node) {
  ++cuts_;
  const bool from_all = random_.below(2) == 0;
  const std::size_t other = random_.below(nodes_.size() + clients_.size());
  for (std::size_t host = 0; host < nodes_.size(); ++host) {
    if (host != node && (from_all || host == other)) network_.cut(node, host);
  }
  if (!from_all && other >= nodes_.size()) network_.cut(node, other);
  time_.in(milliseconds(500 + random_.below(6000)), [this] { network_.heal(); });
}

// Before a disk may be lost, the others must hold what was acked at quorum: they
// do by definition. What was acked at disk alone is lost with it.
void World::lose_disk(std::size_t node) {
  if (!nodes_[node]->running()) return;
  disk_lost_ = true;
  nodes_[node]->crash();
  nodes_[node]->replace_disk(MemoryDisk{}, true);
  nodes_[node]->start();
}

void World::restore_copy(std::size_t node) {
  if (!copy_) {
    copy_.emplace(node, nodes_[node]->disk());
    return;
  }
  disk_lost_ = true;
  nodes_[copy_->first]->crash();
  nodes_[copy_->first]->replace_disk(copy_->second, false);
  nodes_[copy_->first]->start();
}

void World::heal() {
  network_.heal();
  network_.be_kind();
  for (auto& node : nodes_) {
    if (!node->running()) node->start();
  }
}

// ---- invariants ----

void World::check_bounds() {
  for (const auto& node : nodes_) {
    if (!node->running()) continue;
    for (const PeerStatus& peer : node->core()->status(time_.now(), 0).peers) {
      if (peer.outbox > settings_.outbox_shards + 1) fail("an outbox is over its bound");
    }
  }
}

void World::check_converged() {
  if (!everybody_ready()) {
    for (const auto& node : nodes_) {
      if (!node->core()->ready())
        fail("30 s after healing a node is not ready: " + node->core()->state());
    }
  }
  for (const auto& client : clients_) {
    if (!client->calls.empty()) fail("30 s after healing some calls have no answer");
  }
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const auto owners = config_.owners.of(Partition{p});
    const Hash128 first = nodes_[owners[0]]->core()->executor().map().digest(Partition{p});
    for (const MemberIndex owner : owners) {
      if (nodes_[owner]->core()->executor().map().digest(Partition{p}) != first) {
        fail("30 s after healing two owners differ in partition " + std::to_string(p));
      }
    }
  }
  for (const std::string& key : ledger_.keys()) {
    for (const auto& node : nodes_) {
      (void)node->local_read(key);  // fills the rollup cache of who owns nothing of it
    }
  }
  time_.run(time_.now() + seconds(1));
  for (const std::string& key : ledger_.keys()) {
    for (const auto& node : nodes_) {
      (void)node->local_read(key);
      time_.run(time_.now() + milliseconds(20));
      const auto value = node->local_read(key);
      if (!value || value->code != Code::ok) {
        fail("after healing, " + key + " cannot be read");
      } else if (!value->complete) {
        std::string ages;
        for (const PeerStatus& peer : node->core()->status(time_.now(), 0).peers) {
          ages += " " + peer.name + ": " + std::to_string(peer.age_ms) + " ms, outbox " +
                  std::to_string(peer.outbox) + ", " + peer.state + ";";
        }
        fail("after healing, a local read of " + key + " is not complete:" + ages);
      } else if (std::string wrong = ledger_.check_final(key, value->value, disk_lost_);
                 !wrong.empty()) {
        fail(std::move(wrong));
      }
    }
  }
}

std::string World::summary() const {
  return std::to_string(ledger_.acknowledged()) + " adds acknowledged, " +
         std::to_string(ledger_.doubtful()) + " in doubt, " + std::to_string(crashes_) +
         " crashes, " + std::to_string(cuts_) + " cuts";
}

std::string run_seed(std::uint64_t seed) {
  const WorldOptions options = WorldOptions::draw(seed);
  World world(options);
  std::string wrong;
  try {
    wrong = world.run();
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (wrong.empty()) return {};
  return "seed " + std::to_string(seed) + " (" + options.describe() + "; " + world.summary() +
         ")\n  " + wrong + "\n  replay: QUIPU_SIM_SEED=" + std::to_string(seed) +
         " tests/run release -R Simulator.OneSeed";
}

}  // namespace quipu::sim
