#include "tests/simulator/world.h"

#include <algorithm>
#include <limits>

#include "storage/lattice.h"
#include "tests/simulator/reference.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kStep = milliseconds(200);
constexpr std::size_t kOneEvent = std::size_t{48}
                                  << 10;  // bytes that one event may add beyond a bound

ClusterConfig make_config(const Options& options) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < options.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    members.push_back({node_id(name), name, name + ":7401", name + ":7400", "", 1});
  }
  return found_config("sim", members, static_cast<std::uint8_t>(options.owners)).value();
}

NodeSettings make_settings(const Options& options) {
  NodeSettings settings;
  settings.repair_interval = seconds(3);
  if (options.has(Knob::small_outbox)) settings.outbox_shards = 3;
  if (options.has(Knob::small_frames)) {
    settings.frame_bytes = 64;
    settings.repair_answer_bytes = 500;
  }
  if (options.has(Knob::small_checkpoint)) {
    settings.checkpoint.journal_bytes = 4096;
    settings.checkpoint.slice_states = 5;
    settings.checkpoint.cut_records = 7;
  }
  if (options.has(Knob::small_tokens)) {
    settings.tokens.window = 8;
    settings.tokens.sessions = 6;
  }
  if (options.has(Knob::small_queues)) {
    settings.pending_operations = 12;
    settings.pending_read_bytes = 2000;
    settings.rollup_shards = 4;
    settings.unsynced_bytes = 2000;
    settings.backlog_bytes = 6000;
  }
  if (options.has(Knob::small_memory)) {
    settings.memory_limit = 1000;
    // A message that waits for the store weighs 1,300. All peers may bring a question and an
    // answer at once; without room for those, no repair would ever end.
    settings.backlog_bytes = std::max<std::size_t>(settings.backlog_bytes, 16'000);
  }
  return settings;
}

}  // namespace

World::World(const Options& options, Trace& trace)
    : options_(options),
      trace_(trace),
      random_(options.seed ^ 0x5eedU),
      network_(time_, trace, random_.split(), options_),
      config_(make_config(options)),
      oracle_(time_, trace, config_),
      workload_(time_, trace, ledger_, oracle_, config_, options_),
      shared_{time_, trace, network_, oracle_, config_, make_settings(options), [this] {
                ledger_.on_crash(time_.now());
              }} {
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    owned_.push_back(std::make_unique<SimNode>(shared_, i, random_.split()));
    nodes_.push_back(owned_.back().get());
  }
  for (SimNode* node : nodes_) node->meet(nodes_);
  HostId host = nodes_.size();
  Random seeds = random_.split();
  for (std::size_t i = 0; i < options.clients; ++i) {
    clients_.push_back(std::make_unique<LibraryClient>(time_, network_, nodes_, host++, config_,
                                                       workload_, options_, seeds.split()));
  }
  for (std::size_t i = 0; i < options.wire_clients; ++i) {
    wire_clients_.push_back(std::make_unique<WireClient>(time_, network_, nodes_, host++, config_,
                                                         workload_, options_, seeds.split()));
  }
  nemesis_ = std::make_unique<Nemesis>(shared_, nodes_, ledger_, options_, random_.split());
}

void World::run_for(Duration length) {
  time_.run(time_.now() + length, [this] { return static_cast<bool>(trace_.failure()); });
}

template <class Condition>
bool World::wait_for(Duration at_most, Duration step, Condition&& condition) {
  const Instant end = time_.now() + at_most;
  for (;; run_for(step)) {
    if (trace_.failure()) return false;
    if (condition()) return true;
    if (time_.now() >= end) return false;
  }
}

void World::run() {
  try {
    run_whole();
  } catch (const std::exception& error) {
    fail(Invariant::no_crash, error.what());
  }
}

void World::run_whole() {
  for (SimNode* node : nodes_) {
    if (!node->start()) fail(Invariant::no_crash, node->refusal().message());
  }
  for (auto& client : clients_) client->start();
  for (auto& client : wire_clients_) client->start();
  if (!wait_for(seconds(5), kStep, [this] { return everybody_whole(); })) {
    fail(Invariant::all_ready_after_healing, "the founding took more than 5 s without faults");
    return;
  }
  const HashKey placement = nodes_[0]->core()->executor().map().placement_key();
  oracle_.set_placement(placement);
  if (options_.has(Knob::crowds)) ledger_.crowd(placement);
  run_for(seconds(1));

  sampling_ = true;
  sample();
  for (auto& client : clients_) client->work();
  for (auto& client : wire_clients_) client->work();
  nemesis_->on_back([this](MemberIndex node, StoreId store) {
    for (auto& client : wire_clients_) client->favour(node, store);
  });
  nemesis_->start();
  run_for(options_.torment);
  workload_.stop();
  sampling_ = false;
  trace_.say(time_.now(), [] { return "*** all faults end"; });
  nemesis_->heal();
  if (!trace_.failure()) check_converged();
  if (!trace_.failure()) check_it_works();
}

bool World::everybody_whole() const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nemesis_->is_whole(i)) return false;
  }
  return true;
}

// ---- while it runs ----

void World::sample() {
  if (!sampling_) return;
  check_bounds();
  check_merge();
  time_.in(milliseconds(250), [this] { sample(); });
}

void World::check_bounds() {
  for (const SimNode* node : nodes_) {
    if (!node->running()) continue;
    const StatusReply status = node->core()->status(Instant{}, 0);
    for (const PeerStatus& peer : status.peers) {
      if (peer.outbox > shared_.settings.outbox_shards + 1)
        fail(Invariant::bounded, node->name() + "'s outbox to " + peer.name + " holds " +
                                     std::to_string(peer.outbox) + " shards");
    }
    std::size_t known = 0;
    for (const Stat& stat : status.stats) {
      known += stat.name == "quorum_waiting" || stat.name == "sessions" ||
               stat.name == "conflicts" || stat.name == "unsynced_bytes";
      if (stat.name == "unsynced_bytes" && stat.value > shared_.settings.backlog_bytes + kOneEvent)
        fail(Invariant::bounded,
             node->name() + " has " + std::to_string(stat.value) + " bytes that are not durable");
      if (stat.name == "quorum_waiting" && stat.value > shared_.settings.pending_operations)
        fail(Invariant::bounded,
             node->name() + " has " + std::to_string(stat.value) + " quorum waits");
      if (stat.name == "sessions" && stat.value > shared_.settings.tokens.sessions + 16)
        fail(Invariant::bounded,
             node->name() + " holds " + std::to_string(stat.value) + " sessions");
      if (stat.name == "conflicts" && stat.value > 0)
        fail(Invariant::one_commit_one_sum, node->name() + " has met conflicting cells");
    }
    if (known != 4) fail(Invariant::bounded, "the status lacks what is bounded");
  }
}

void World::check_merge() {
  const std::vector<std::string>& keys = ledger_.keys();
  if (keys.empty()) return;
  const std::string& key = keys[random_.below(keys.size())];
  const auto shard = static_cast<ShardIndex>(random_.below(2));
  ShardState states[3];
  for (ShardState& state : states) {
    const SimNode& node = *nodes_[random_.below(nodes_.size())];
    if (!node.running()) continue;
    const ShardMap& map = node.core()->executor().map();
    const Placement placement = map.place({key, shard});
    if (map.resident(placement, {key, shard})) map.read(placement, {key, shard}, state);
  }
  const auto join = [](ShardState a, const ShardState& b) {
    merge(a, b);
    return a;
  };
  const auto& [a, b, c] = states;
  if (join(a, b) != join(b, a)) fail(Invariant::merge_is_a_join, key + ": not commutative");
  if (join(join(a, b), c) != join(a, join(b, c)))
    fail(Invariant::merge_is_a_join, key + ": not associative");
  if (join(a, a) != a) fail(Invariant::merge_is_a_join, key + ": not idempotent");
  ShardState defined = a;
  (void)reference::join(defined, b);
  if (join(a, b) != defined || total(defined.cells).sum != reference::total(defined))
    fail(Invariant::merge_is_a_join, key + ": not what the definition says");
}

// ---- when all is over ----

// Nothing, or who does not.
std::string World::who_differs() const {
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const Partition partition{p};
    const auto map = [&](MemberIndex node) -> const ShardMap& {
      return nodes_[node]->core()->executor().map();
    };
    const auto owners = config_.owners.of(partition);
    for (MemberIndex node = 0; node < nodes_.size(); ++node) {
      const bool owned = config_.owners.owns(node, partition);
      if (owned && map(node).digest(partition) != map(owners[0]).digest(partition))
        return nodes_[node]->name() + " and " + nodes_[owners[0]]->name() +
               " differ in partition " + std::to_string(p);
      // What others executed meanwhile is with the owners, and given up.
      if (!owned && map(node).size(partition) > 0)
        return nodes_[node]->name() + " still holds " + std::to_string(map(node).size(partition)) +
               " shards of partition " + std::to_string(p) + ", which it does not own";
    }
  }
  return {};
}

// Nothing, or who keeps more in memory than it may, though nobody asks it anything.
std::string World::who_is_crowded() const {
  for (const SimNode* node : nodes_) {
    const ShardMap& map = node->core()->executor().map();
    if (!map.crowded()) continue;
    return node->name() + " has " + std::to_string(map.footprint()) + " bytes in memory, " +
           std::to_string(map.dirty_bytes()) + " of them dirty";
  }
  return {};
}

void World::check_converged() {
  const Instant healed = time_.now();
  const auto left = [&] { return healed + seconds(30) - time_.now(); };
  if (!wait_for(left(), kStep, [this] { return everybody_whole(); })) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->running() && !nemesis_->is_whole(i)) {
        std::string peers;
        for (const PeerStatus& peer : nodes_[i]->core()->status(Instant{}, 0).peers)
          peers += "; " + peer.name + ": " + peer.state;
        fail(Invariant::all_ready_after_healing,
             nodes_[i]->name() + " is not: " + nodes_[i]->core()->state() + peers);
      }
    }
    fail(Invariant::all_ready_after_healing, "a node is down");
    return;
  }
  const auto nobody_waits = [this] {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->waiting() == 0; }) &&
           std::all_of(wire_clients_.begin(), wire_clients_.end(),
                       [](const auto& client) { return client->waiting() == 0; });
  };
  if (!wait_for(left(), kStep, nobody_waits))
    fail(Invariant::every_call_ends, "30 s after the last fault some calls have no answer");
  ledger_.on_quiet(time_.now());
  for (auto& client : wire_clients_) client->settle_doubts();
  if (!wait_for(seconds(15), kStep, nobody_waits))
    fail(Invariant::every_call_ends, "after healing, what became of some changes has no answer");
  const auto agree = [this] { return who_differs().empty(); };
  if (!wait_for(std::max<Duration>(left(), seconds(15)), kStep, agree))
    fail(Invariant::owners_agree_after_healing, who_differs());
  if (!wait_for(seconds(15), kStep, [this] { return who_is_crowded().empty(); }))
    fail(Invariant::bounded, who_is_crowded());
  nemesis_->check_identities();
  if (!trace_.failure()) check_totals();
}

void World::check_totals() {
  const std::vector<std::string>& keys = ledger_.keys();
  for (SimNode* node : nodes_) {
    for (const std::string& key : keys) {
      const auto complete = [&] {
        const auto value = node->answer();
        if (value &&
            (value->code == Code::out_of_range || (value->code == Code::ok && value->complete)))
          return true;
        node->ask(key);
        return false;
      };
      node->ask(key);
      if (!wait_for(seconds(10), milliseconds(20), complete)) {
        for (SimNode* one : nodes_) {
          trace_.say(time_.now(), [&] {
            std::string text = one->name() + " hears";
            for (const PeerStatus& peer : one->core()->status(one->clock().now(), 0).peers)
              text += " " + peer.name + " " + peer.state + " " + std::to_string(peer.age_ms) +
                      " ms ago, outbox " + std::to_string(peer.outbox) + ";";
            return text;
          });
        }
        fail(Invariant::complete_read_is_complete,
             "after healing, a local read of " + key + " at " + node->name() +
                 " does not become complete" +
                 (node->answer() ? ", " + std::to_string(node->answer()->age_ms) + " ms old" : ""));
        return;
      }
      if (const Failure wrong = ledger_.check_final(key, *node->answer(), time_.now()))
        fail(wrong.invariant, node->name() + ": " + wrong.what);
      if (trace_.failure()) return;
    }
  }
}

// Adds and reads of every level.
void World::check_it_works() {
  std::size_t answered = 0, asked = 0;
  const std::string key = ledger_.open_key(KeyKind::witness);
  for (auto& client : clients_) {
    for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
      Task task;
      task.key = key;
      task.ack = ack;
      task.timeout = seconds(5);
      task.begun = time_.now();
      task.op = ledger_.begin_add(task.begun, key, 0);
      task.amount = ledger_.change(task.op).amount;
      ++asked;
      client->call(task, [&](const ClientAnswer& answer) {
        if (std::get<Status>(answer).ok()) ++answered;
      });
    }
  }
  wait_for(seconds(6), kStep, [&] { return answered == asked; });
  for (auto& client : clients_) {
    for (const ReadLevel level : {ReadLevel::local, ReadLevel::fresh, ReadLevel::strong}) {
      Task task;
      task.what = Task::What::read;
      task.key = key;
      task.level = level;
      task.timeout = seconds(5);
      task.begun = time_.now();
      ++asked;
      client->call(task, [&](const ClientAnswer& answer) {
        const auto* values = std::get_if<Values>(&answer);
        if (values != nullptr && values->values.front().code == Code::ok) ++answered;
      });
    }
  }
  if (!wait_for(seconds(6), kStep, [&] { return answered == asked; }))
    fail(Invariant::works_after_healing,
         std::to_string(asked - answered) + " of " + std::to_string(asked) +
             " requests that began after healing were not carried out");
}

// ---- reports ----

namespace {

constexpr std::size_t kLastEvents = 40;

// The counter that it is about, if it names one: "witness:12".
std::string culprit(const std::string& what) {
  for (const char* kind : {"witness:", "negative:", "signed:", "big:"}) {
    const std::size_t at = what.find(kind);
    if (at != std::string::npos) return what.substr(at, what.find_first_of(" /", at) - at);
  }
  return {};
}

bool names(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (key.empty() || at == std::string::npos) return key.empty();
  const std::size_t behind = at + key.size();
  return behind == line.size() || line[behind] < '0' || line[behind] > '9';
}

// The last events; where a counter broke, its own and what befell the nodes.
std::vector<std::string> story(const Trace& trace) {
  const std::string key = culprit(trace.failure().what);
  std::vector<std::string> events;
  for (const std::string& line : trace.lines()) {
    if (names(line, key) || line.find("***") != std::string::npos ||
        line.find(" starts at ") != std::string::npos)
      events.push_back(line);
  }
  if (events.size() > kLastEvents)
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kLastEvents));
  return events;
}

}  // namespace

Report simulate(const Options& options) {
  const auto once = [&](std::size_t keep) {
    Report report;
    report.options = options;
    Trace trace;
    trace.keep(keep);
    {
      World world(options, trace);
      world.run();
      report.lasted = world.lasted();
    }
    report.failure = trace.failure();
    report.hash = trace.hash();
    report.faults = trace.faults;
    report.operations = trace.operations;
    report.last_events = story(trace);
    return report;
  };
  Report report = once(0);
  if (!report.failure) return report;
  Report told = once(std::numeric_limits<std::size_t>::max());
  if (told.hash != report.hash || told.failure.invariant != report.failure.invariant) {
    told.failure = report.failure;
    told.failure.what += " (and a second run of the same seed went another way)";
  }
  return told;
}

std::string explain(const Report& report) {
  const InvariantInfo& info = describe(report.failure.invariant);
  std::string text =
      "BROKEN  " + std::string(info.name) + ": " + std::string(info.meaning) + "\n  what    " +
      report.failure.what + "\n  seed    " + std::to_string(report.options.seed) + "\n  options " +
      report.options.describe() + "\n  events that led to it, in seconds of virtual time:\n";
  for (const std::string& line : report.last_events) text += "    " + line + "\n";
  text += "  replay  quipu_sim " + report.options.arguments() + " --trace\n  shrink  quipu_sim " +
          report.options.arguments() + " --shrink\n";
  return text;
}

}  // namespace quipu::sim
