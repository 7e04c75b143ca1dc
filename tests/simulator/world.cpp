#include "tests/simulator/world.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "protocol/check.h"
#include "storage/kinds/distinct.h"
#include "storage/lattice.h"
#include "tests/simulator/aftermath.h"
#include "tests/simulator/planted.h"
#include "tests/simulator/reference.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kRecentKeys = 32, kTurns = 8;  // old keys: one turn in eight
constexpr std::size_t kCountsOneIn = 4;              // else it lists
constexpr std::size_t kNewestListed = 16;
constexpr std::uint32_t kCountMs = 1500;
constexpr std::size_t kOpenSessions = 64;     // that one record may open: they are kept until then
constexpr std::uint64_t kBodyDraws = 0x626f;  // so that the other draws of a seed stay as they are
constexpr std::size_t kOneEvent = 60'000;     // bytes that one event may add beyond a bound
constexpr std::size_t kOfElements =
    100'000;  // … and what asks of elements add, which nobody holds back

ClusterConfig make_config(const Options& options) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < options.nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    const bool edge =
        options.has(Knob::edge) && i + 1 == options.nodes && options.nodes > options.owners;
    members.push_back({node_id(name), name, name + ":7401", name + ":7400", "", edge ? 0U : 1U});
  }
  return found_config("sim", members, static_cast<std::uint8_t>(options.owners)).value();
}

NodeSettings make_settings(const Options& options) {
  NodeSettings settings;
  settings.repair_interval = seconds(3);
  settings.question_bytes = 2'000;  // of three answers or so
  if (options.has(Knob::small_outbox)) settings.outbox_shards = 3;
  if (options.has(Knob::small_frames)) {
    settings.frame_bytes = 64;
    settings.repair_answer_bytes = options.has(Knob::crowds) ? 60 : 500;
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
    // A message that waits for the store weighs 1,300, and with bodies up to 20,000. All peers may
    // bring a question and an answer at once; without room for those, no repair would ever end.
    const std::size_t room = options.has(Knob::elements) ? 160'000 : 16'000;
    settings.backlog_bytes = std::max(settings.backlog_bytes, room);
  }
  return settings;
}

// The cell of that actor. A cell without a commit: there is none.
Cell cell_of(ActorId actor, const ShardState& state) {
  const auto at = std::ranges::find(state.cells, actor, &Cell::actor);
  return at == state.cells.end() ? Cell{} : *at;
}

}  // namespace

World::World(const Options& options, Trace& trace)
    : options_(options),
      trace_(trace),
      random_(options.seed ^ 0x5eedU),
      body_draws_(options.seed ^ kBodyDraws),
      network_(time_, trace, random_.split(), options_),
      config_(make_config(options)),
      oracle_(time_, trace, config_),
      workload_(time_, trace, ledger_, oracle_, config_, options_),
      shared_{time_,
              trace,
              network_,
              oracle_,
              config_,
              make_settings(options),
              options.has(Knob::upgrades),
              [this] { ledger_.on_crash(time_.now()); },
              [this] {
                if (sampling_) check_majorities(Which::all);
              },
              [this](const SimNode& node) {
                if (homes_) homes_->on_turn(node);
              },
              [this](const SimNode& closed) { check_left(closed); }} {
  for (MemberIndex i = 0; i < config_.members.size(); ++i) {
    owned_.push_back(std::make_unique<SimNode>(shared_, i, random_.split()));
    nodes_.push_back(owned_.back().get());
  }
  for (SimNode* node : nodes_) node->meet(nodes_);
  oracle_.set_votes([this](MemberIndex node, Partition partition) {
    const NodeCore* const core = nodes_[node]->core();
    const bool votes = core != nullptr && core->view().answers_for(partition);
    return votes ? std::optional(core->view().fence()) : std::nullopt;
  });
  oracle_.set_bootstrapping([this](MemberIndex node, Partition partition) {
    const NodeCore* const core = nodes_[node]->core();
    return core != nullptr && !core->view().in_quorum(partition);
  });
  oracle_.set_has_voted(
      [this](MemberIndex node, Partition partition) { return nodes_[node]->has_voted(partition); });
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
  if (options_.has(Knob::namespaces)) namespaces_.emplace(shared_, nodes_, ledger_, options_);
  // A node that is alone trusts its clock, so nobody can say when its counters end.
  const bool nobody_knows = nodes_.size() == 1 && options_.has(Knob::wrong_walls);
  if (options_.has(Knob::ends) && !nobody_knows) ends_.emplace(shared_, nodes_, ledger_, options_);
  if (options_.has(Knob::windows) && !nobody_knows)
    windows_.emplace(shared_, nodes_, ledger_, options_);
  if (options_.has(Knob::transactions)) transactions_.emplace(shared_, nodes_, ledger_, options_);
  if (options_.has(Knob::homes)) homes_.emplace(shared_, nodes_, ledger_, options_);
  // Beside counters that end, these would only make a run longer.
  if (options_.has(Knob::elements) && !ends_) elements_.emplace(shared_, nodes_, ledger_, options_);
  if (elements_) items_.emplace(shared_, nodes_, ledger_, options_);
}

void World::run_for(Duration length) {
  time_.run(time_.now() + length, [this] { return static_cast<bool>(trace_.failure()); });
}

bool World::wait_for(Duration at_most, Duration step, const std::function<bool()>& condition) {
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
  const bool disturbed = options_.has(Knob::founding);
  if (disturbed) {
    nemesis_->start(Nemesis::Disks::kept);
    run_for(options_.torment / 4);
    trace_.say(time_.now(), [] { return "*** faults end until all are founded"; });
    nemesis_->heal();
  }
  if (!wait_for(seconds(disturbed ? 30 : 5), kStep, [this] { return everybody_whole(); })) {
    fail(Invariant::all_ready_after_healing, "the founding does not end without faults");
    return;
  }
  const HashKey placement = nodes_[0]->core()->executor().map().placement_key();
  oracle_.set_placement(placement);
  if (options_.has(Knob::crowds)) ledger_.crowd(placement, options_.has(Knob::small_frames));
  run_for(seconds(1));

  sampling_ = true;
  sample();
  sample_reads();
  for (auto& client : clients_) client->work();
  for (auto& client : wire_clients_) client->work();
  if (namespaces_) namespaces_->work();
  if (ends_) ends_->work();
  if (windows_) windows_->work();
  if (transactions_) transactions_->work();
  if (homes_) homes_->work();
  if (elements_) elements_->work();
  if (items_) items_->work();
  nemesis_->on_favoured([this](MemberIndex node, StoreId store) {
    for (auto& client : wire_clients_) client->favour(node, store);
  });
  nemesis_->start(Nemesis::Disks::lost);
  run_for(options_.torment);
  workload_.stop();
  if (namespaces_) namespaces_->stop();
  if (ends_) ends_->stop();
  if (windows_) windows_->stop();
  if (transactions_) transactions_->stop();
  if (homes_) homes_->stop();
  if (elements_) elements_->stop();
  if (items_) items_->stop();
  sampling_ = false;
  trace_.say(time_.now(), [] { return "*** all faults end"; });
  nemesis_->heal();
  if (!trace_.failure()) Aftermath(*this).check();
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
  check_majorities(Which::recent_and_some);
  check_counts();
  check_derived();
  time_.in(milliseconds(250), [this] { sample(); });
}

// Moments of all distances to the gossip's: what a read may claim differs in between.
void World::sample_reads() {
  if (!sampling_) return;
  check_local_reads();
  time_.in(milliseconds(47), [this] { sample_reads(); });
}

void World::check_bounds() {
  for (const SimNode* node : nodes_) {
    if (!node->running()) continue;
    const StatusReply status = node->core()->status(node->clock().now(), 0);
    for (const PeerStatus& peer : status.peers) {
      if (peer.outbox > shared_.settings.outbox_shards + 1)
        fail(Invariant::bounded, node->name() + "'s outbox to " + peer.name + " holds " +
                                     std::to_string(peer.outbox) + " shards");
    }
    std::size_t known = 0;
    for (const Stat& stat : status.stats) {
      known += stat.name == "quorum_waiting" || stat.name == "sessions" ||
               stat.name == "conflicts" || stat.name == "unsynced_bytes" ||
               stat.name == "rollup_shards" || stat.name == "question_cache_bytes";
      if (stat.name == "rollup_shards" && stat.value > shared_.settings.rollup_shards)
        fail(Invariant::bounded,
             node->name() + " keeps the totals of " + std::to_string(stat.value) + " shards");
      if (stat.name == "question_cache_bytes" && stat.value > shared_.settings.question_bytes)
        fail(Invariant::bounded,
             node->name() + " keeps " + std::to_string(stat.value) + " bytes of cached answers");
      const std::size_t more = kOneEvent + (elements_ ? kOfElements : 0);
      if (stat.name == "unsynced_bytes" && stat.value > shared_.settings.backlog_bytes + more)
        fail(Invariant::bounded,
             node->name() + " has " + std::to_string(stat.value) + " bytes that are not durable");
      if (stat.name == "quorum_waiting" && stat.value > shared_.settings.pending_operations)
        fail(Invariant::bounded,
             node->name() + " has " + std::to_string(stat.value) + " quorum waits");
      if (stat.name == "sessions" && stat.value > shared_.settings.tokens.sessions + kOpenSessions)
        fail(Invariant::bounded,
             node->name() + " holds " + std::to_string(stat.value) + " sessions");
      if (stat.name == "conflicts" && stat.value > 0)
        fail(Invariant::one_commit_one_sum, node->name() + " has met conflicting cells");
    }
    if (known != 6) fail(Invariant::bounded, "the status lacks what is bounded");
  }
}

// What each node would answer at this moment, of the newest counters, is true as well.
void World::check_local_reads() {
  const std::vector<std::string>& keys = ledger_.keys();
  const std::size_t recent = std::min(keys.size(), kRecentKeys);
  const std::vector<std::string_view> asked(keys.end() - static_cast<std::ptrdiff_t>(recent),
                                            keys.end());
  std::vector<Value> values(recent);
  const Instant now = time_.now();
  for (SimNode* node : nodes_) {
    if (!node->running()) continue;
    node->core()->read_now(node->clock().now(), asked, values);
    for (std::size_t i = 0; i < recent; ++i) {
      if (values[i].shards == 0) continue;
      const std::string key(asked[i]);
      const Partition home = Placement{oracle_.placement(), {key, 0}}.partition();
      const bool counts = node->core()->view().answers_for(home);
      const Failure wrong =
          ledger_.check_read(ReadLevel::local, key, values[i], {now, now, now, counts});
      if (wrong) fail(wrong.invariant, node->name() + ", if it were asked: " + wrong.what);
    }
  }
}

// As a local query would, now.
void World::check_derived() {
  for (const std::string& key : keys_of_elements()) {
    for (const SimNode* node : nodes_) {
      if (!node->running()) continue;
      const ShardRef shard{key, kDistinctShard};
      const EntryIndex& index = node->core()->executor().map().index();
      const Entry* const entry = index.find(index.place(shard), shard);
      if (entry == nullptr || !entry->has_bodies() || entry->part_count() == 0) continue;
      const std::string_view body = entry->bodies().back();
      std::string told, counted;
      (void)answer_alone(kDistinct, body, entry->last_derived(), distinct::kCountQuestion, told);
      (void)kDistinct.answer({&body, 1}, distinct::kCountQuestion, counted);
      if (told != counted)
        fail(Invariant::derived_follows_its_body,
             node->name() + " counts another number in " + key + " than its registers");
    }
  }
}

// One node in turn lists or counts counters; its answer is looked at once it is there.
void World::check_counts() {
  if (count_.node != nullptr && count_.node->running()) {
    if (!count_.node->told() && time_.now() < count_.until) return;
    // A disk may have gone back to an older copy since it was asked.
    if (count_.node->told() && !ledger_.came_back()) check_told(*count_.node->told());
  }
  count_.node = nullptr;
  SimNode& node = *nodes_[++count_.turn % nodes_.size()];
  if (!node.running() || ledger_.came_back()) return;
  const std::vector<std::string>& keys = ledger_.keys();
  if (keys.empty()) return;
  const std::size_t round = count_.turn / nodes_.size();
  const bool counts = round % kCountsOneIn == 0;
  // From the newest on: what is new may be missed at first, and what is old where it is filled.
  const std::size_t among = round % 2 == 0 ? keys.size() : kNewestListed;
  const std::size_t enough = counts ? keys.size() : 1 + count_.turn % among;
  count_.certain.clear();
  for (auto key = keys.rbegin(); key != keys.rend() && count_.certain.size() < enough; ++key) {
    if (!ledger_.ever_reset(*key) && oracle_.exists_for_all(*key))
      count_.certain.push_back({*key, oracle_.votes(*key)});
  }
  count_.node = &node;
  count_.until = time_.now() + milliseconds(kCountMs);
  if (counts || count_.certain.empty()) {
    count_.listed.clear();
    return node.ask(CountKeys{.timeout_ms = kCountMs});
  }
  count_.listed = count_.certain.back().key;
  const Placement place{oracle_.placement(), {count_.listed, 0}};
  count_.from = raw(place.partition()) * std::uint32_t{kLeaves} + place.leaf();
  // A prefix that others have as well: with its own, a node that lacks it would look on and on.
  const std::string prefix = count_.listed.substr(0, count_.turn % 4);
  node.ask(List{.prefix = prefix, .cursor = count_.from, .limit = 1, .timeout_ms = kCountMs});
}

// A reset that came meanwhile may have been executed first. An owner that was filled meanwhile
// may lack what the other owners have.
bool World::is_certain(const Count::Certain& counter) const {
  if (ledger_.ever_reset(counter.key)) return false;
  const Oracle::Votes now = oracle_.votes(counter.key);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] && (i >= counter.votes.size() || !counter.votes[i])) return false;
  }
  return true;
}

void World::check_told(const Answer& told) {
  std::erase_if(count_.certain, [this](const auto& counter) { return !is_certain(counter); });
  const std::size_t least = count_.certain.size();
  const std::size_t most =
      ledger_.keys().size() + (ends_ ? ends_->counters() : 0) +
      (windows_ ? windows_->counters() : 0) + (transactions_ ? transactions_->counters() : 0) +
      (homes_ ? homes_->counters() : 0) + (elements_ ? elements_->counters() : 0) +
      (items_ ? items_->counters() : 0);
  const KeyCount* const sized = std::get_if<KeyCount>(&told);
  if (sized != nullptr && sized->code == Code::ok &&
      (sized->counters > most || sized->counters < least))
    fail(Invariant::lists_are_whole, count_.node->name() + " counts " +
                                         std::to_string(sized->counters) +
                                         " counters, of at least " + std::to_string(least) +
                                         " and at most " + std::to_string(most) + " that exist");
  const Keys* const keys = std::get_if<Keys>(&told);
  if (keys != nullptr && keys->code == Code::ok && keys->next > count_.from &&
      std::ranges::count(count_.certain, count_.listed, &Count::Certain::key) > 0 &&
      std::ranges::find(keys->keys, count_.listed) == keys->keys.end())
    fail(Invariant::lists_are_whole,
         count_.node->name() + " lists the place of " + count_.listed + " without it");
}

void World::check_merge() {
  const std::vector<std::string>& keys = ledger_.keys();
  if (!keys.empty()) {
    const std::string& key = keys[random_.below(keys.size())];
    check_merge(key, static_cast<ShardIndex>(random_.below(2)));
  }
  const std::vector<std::string> bodies = keys_of_elements();
  if (!bodies.empty()) check_merge(bodies[body_draws_.below(bodies.size())], kDistinctShard);
}

std::vector<std::string> World::keys_of_elements() const {
  std::vector<std::string> keys;
  if (elements_) keys = elements_->keys();
  if (ends_) std::ranges::copy(ends_->keys_of_elements(), std::back_inserter(keys));
  return keys;
}

void World::check_merge(const std::string& key, ShardIndex shard) {
  Random& draws = is_sum(shard) ? random_ : body_draws_;
  ShardState states[3];
  for (ShardState& state : states) {
    const SimNode& node = *nodes_[draws.below(nodes_.size())];
    if (!node.running()) continue;
    const ShardMap& map = node.core()->executor().map();
    const Placement placement = map.place({key, shard});
    if (map.resident(placement, {key, shard})) map.read(placement, {key, shard}, state);
  }
  const auto join = [&](ShardState a, const ShardState& b) {
    merge(a, as_entry({key, shard}, b));
    return a;
  };
  const auto& [a, b, c] = states;
  if (join(a, b) != join(b, a)) fail(Invariant::merge_is_a_join, key + ": not commutative");
  if (join(join(a, b), c) != join(a, join(b, c)))
    fail(Invariant::merge_is_a_join, key + ": not associative");
  if (join(a, a) != a) fail(Invariant::merge_is_a_join, key + ": not idempotent");
  if (!is_sum(shard)) {
    if (!reference::is_join(join(a, b), a, b))
      fail(Invariant::merge_is_a_join, key + ": not the greater rank of each register");
    return;
  }
  ShardState defined = a;
  (void)reference::join(defined, b);
  if (join(a, b) != defined || total(defined.cells).sum != reference::total(defined))
    fail(Invariant::merge_is_a_join, key + ": not what the definition says");
}

// Before anybody happens to ask the wrong ones. Of old keys only what is lost with a disk is
// of interest, which stays so: a part of them each time. Where nothing has changed since
// the last look, the next one would say the same.
// What it has counted itself, as far as it is in its memory. A peer that went back may have
// forgotten what it had.
void World::check_left(const SimNode& closed) {
  if (ledger_.came_back()) return;
  const Executor& executor = closed.core()->executor();
  const View& view = closed.core()->view();
  const auto reached = [&](MemberIndex member, Partition partition) {
    return member != closed.member() && view.up(member) && !view.full(member) &&
           config_.owners.owns(member, partition) &&
           !ledger_.disk_lost_since(member, Instant::min());
  };
  for (const std::string& key : ledger_.keys()) {
    for (ShardIndex shard = 0; shard < kShards; ++shard) {
      const ShardRef ref{key, shard};
      const Placement place(oracle_.placement(), ref);
      if (!config_.owners.owns(closed.member(), place.partition()) ||
          !executor.map().resident(place, ref))
        continue;
      ShardState state;
      executor.map().read(place, ref, state);
      const ActorId actor = executor.actor(place.partition());
      const Cell counted = cell_of(actor, state);
      for (const SimNode* node : nodes_) {
        if (!reached(node->member(), place.partition())) continue;
        const Cell told = cell_of(actor, oracle_.durable(node->member(), ref));
        if (told.commit < counted.commit)
          fail(Invariant::closed_leaves_nothing, closed.name() + " has closed, and the disk of " +
                                                     node->name() + " lacks what it counted in " +
                                                     key);
      }
    }
  }
}

void World::check_majorities(Which which) {
  const std::vector<std::string>& keys = ledger_.keys();
  if (which != Which::all) ++turn_;
  looks_.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool old = i + kRecentKeys < keys.size();
    if (which != Which::all && old && i % kTurns != turn_ % kTurns) continue;
    const std::string& key = keys[i];
    const KeyKind kind = ledger_.kind(key);
    if (kind != KeyKind::witness && kind != KeyKind::negative_witness) continue;
    Oracle::Votes votes = oracle_.votes(key);
    const Instant changed = std::max(oracle_.changed(key), ledger_.changed(key));
    if (changed < looks_[i].at && votes == looks_[i].votes) continue;
    looks_[i] = {time_.now(), std::move(votes)};
    const auto readable = oracle_.readable(key, kind == KeyKind::negative_witness);
    if (const Failure wrong =
            ledger_.check_readable(key, readable.always, readable.ever, time_.now()))
      fail(wrong.invariant, wrong.what);
  }
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
      const ChecksThrow throws;
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
  const std::string program =
      planted_now().empty() ? "quipu_sim " : "quipu_sim_planted --plant " + planted_now() + " ";
  const std::string again = "build/release/bin/" + program + report.options.arguments();
  text += "  replay  " + again + " --trace\n  shrink  " + again + " --shrink\n";
  return text;
}

}  // namespace quipu::sim
