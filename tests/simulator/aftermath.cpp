#include "tests/simulator/aftermath.h"

#include <algorithm>
#include <set>

#include "cluster/client/settings.h"
#include "storage/stored_keys.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How old local reads are at most, while nothing fails: from a node's own memory, and from what
// an owner told. That may have been told three intervals ago.
constexpr Duration kOwnAge = milliseconds(300), kOthersAge = milliseconds(600);

}  // namespace

void Aftermath::check() {
  check_converged();
  if (!trace_.failure()) check_clocks();
  if (!trace_.failure()) check_it_works();
  if (!trace_.failure()) check_staleness();
}

// Nothing, or who does not.
std::string Aftermath::who_differs() const {
  for (std::uint16_t p = 0; p < kPartitions; ++p) {
    const Partition partition{p};
    const auto map = [&](MemberIndex node) -> const ShardMap& {
      return nodes_[node]->core()->executor().map();
    };
    const auto owners = config_.owners.of(partition);
    for (MemberIndex node = 0; node < nodes_.size(); ++node) {
      const bool owned = config_.owners.owns(node, partition);
      if (owned &&
          map(node).ledger().digest(partition) != map(owners[0]).ledger().digest(partition))
        return nodes_[node]->name() + " and " + nodes_[owners[0]]->name() +
               " differ in partition " + std::to_string(p);
      // What others executed meanwhile is with the owners, and given up.
      std::string held;
      if (!owned) {
        map(node).index().for_each(partition, [&](const Entry& entry) {
          held += " " + std::string(entry.ref().key) + "/" + std::to_string(entry.ref().shard);
        });
      }
      if (!held.empty())
        return nodes_[node]->name() + " still holds" + held + " of partition " + std::to_string(p) +
               ", which it does not own";
    }
  }
  for (const std::string& key : ledger_.keys()) {
    if (std::string who = world_.oracle_.who_differs(key); !who.empty()) return who;
  }
  return who_keeps_what_it_gave_up();
}

// The same of what is at rest on disks.
std::string Aftermath::who_keeps_what_it_gave_up() const {
  const HashKey placement = nodes_[0]->core()->executor().map().placement_key();
  for (SimNode* node : nodes_) {
    for (const auto& [key, value] : node->disk().bytes().durable) {
      const auto named = stored::parse_shard(key);
      if (!named) continue;
      const Partition partition = Placement{placement, named->ref}.partition();
      if (!config_.owners.owns(node->member(), partition))
        return node->name() + " still has " + std::string(named->ref.key) +
               " at rest, in partition " + std::to_string(raw(partition)) +
               ", which it does not own";
    }
  }
  return {};
}

// Nothing, or who keeps more in memory than it may, though nobody asks it anything.
std::string Aftermath::who_is_crowded() const {
  for (const SimNode* node : nodes_) {
    const ShardMap& map = node->core()->executor().map();
    if (!map.eviction().crowded()) continue;
    return node->name() + " has " + std::to_string(map.index().footprint()) + " bytes in memory, " +
           std::to_string(map.ledger().dirty_bytes()) + " of them dirty";
  }
  return {};
}

void Aftermath::check_converged() {
  const Instant healed = time_.now();
  const auto left = [&] { return healed + seconds(30) - time_.now(); };
  const auto whole = [this] {
    nemesis_.rebuild_refused();
    return world_.everybody_whole();
  };
  if (!world_.wait_for(left(), kStep, whole)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->running() && !nemesis_.is_whole(i)) {
        std::string peers;
        for (const PeerStatus& peer : nodes_[i]->core()->status(nodes_[i]->clock().now(), 0).peers)
          peers += "; " + peer.name + ": " + peer.state;
        fail(Invariant::all_ready_after_healing,
             nodes_[i]->name() + " is not: " + nodes_[i]->core()->state() + peers);
      }
    }
    fail(Invariant::all_ready_after_healing, "a node is down");
    return;
  }
  if (world_.namespaces_) check_namespaces();
  if (trace_.failure()) return;
  const auto nobody_waits = [this] {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->waiting() == 0; }) &&
           std::all_of(wire_clients_.begin(), wire_clients_.end(),
                       [](const auto& client) { return client->waiting() == 0; });
  };
  if (!world_.wait_for(left(), kStep, nobody_waits))
    fail(Invariant::every_call_ends, "30 s after the last fault some calls have no answer");
  ledger_.on_quiet(time_.now());
  for (auto& client : wire_clients_) client->settle_doubts();
  if (!world_.wait_for(seconds(30), kStep, nobody_waits))
    fail(Invariant::every_call_ends, "after healing, what became of some changes has no answer");
  const auto agree = [this] { return who_differs().empty(); };
  if (!world_.wait_for(std::max<Duration>(left(), seconds(15)), kStep, agree))
    fail(Invariant::owners_agree_after_healing, who_differs());
  if (!world_.wait_for(seconds(15), kStep, [this] { return who_is_crowded().empty(); }))
    fail(Invariant::bounded, who_is_crowded());
  nemesis_.check_identities();
  if (!trace_.failure()) check_totals();
  if (!trace_.failure()) check_lists();
}

// Before doubts end and new counters are made: neither would end in a namespace that is forbidden.
void Aftermath::check_namespaces() {
  NamespaceClients& clients = *world_.namespaces_;
  const auto agree = [&] { return clients.who_differs().empty(); };
  if (!world_.wait_for(seconds(5), kStep, [&] { return clients.waiting() == 0; }))
    fail(Invariant::every_call_ends, "after healing, a change of a namespace has no answer");
  if (!world_.wait_for(seconds(5), kStep, agree))
    fail(Invariant::namespaces_agree, clients.who_differs());
  if (const std::string lost = clients.what_is_lost(); !lost.empty())
    fail(Invariant::namespaces_agree, lost);
  clients.relax();
  if (!world_.wait_for(seconds(5), kStep, [&] { return clients.relaxed(); }))
    fail(Invariant::works_after_healing,
         "a change of a namespace is not carried out though nothing fails");
  // A node may have closed a link for want of room, so the answer may be without its peer.
  if (!world_.wait_for(seconds(5), kStep, agree))
    fail(Invariant::namespaces_agree, clients.who_differs());
}

void Aftermath::check_totals() {
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
      if (!world_.wait_for(seconds(10), milliseconds(20), complete)) {
        for (SimNode* one : nodes_) {
          trace_.say(time_.now(), [&] {
            std::string text = one->name() + " hears";
            for (const PeerStatus& peer : one->core()->status(one->clock().now(), 0).peers)
              text += " " + peer.name + " " + peer.state + " " + std::to_string(peer.age_ms) +
                      " ms ago, outbox " + std::to_string(peer.outbox) + ";";
            return text;
          });
        }
        world_.fail(
            Invariant::complete_read_is_complete,
            "after healing, a local read of " + key + " at " + node->name() +
                " does not become complete" +
                (node->answer() ? ", " + std::to_string(node->answer()->age_ms) + " ms old" : ""));
        return;
      }
      const Value told = *node->answer();
      // One that is spread over shards is listed whatever it counts.
      existence_[key] = told.exists       ? Existence::certain
                        : told.shards > 1 ? Existence::possible
                                          : Existence::none;
      if (const Failure wrong = ledger_.check_final(key, told, time_.now()))
        fail(wrong.invariant, node->name() + ": " + wrong.what);
      if (trace_.failure()) return;
    }
  }
}

// What it tells once it carries that out; nothing: it does not.
template <class Told, class Question>
std::optional<Told> Aftermath::hear(SimNode& node, const Question& question) {
  node.ask(question);
  const auto carried_out = [&] {
    const Told* const told = node.told() ? std::get_if<Told>(&*node.told()) : nullptr;
    if (told == nullptr) return false;
    if (told->code == Code::ok) return true;
    node.ask(question);
    return false;
  };
  if (!world_.wait_for(seconds(10), milliseconds(5), carried_out)) return std::nullopt;
  return std::get<Told>(*node.told());
}

bool Aftermath::in_one_leaf(const std::vector<std::string>& keys) const {
  const auto leaf = [this](const std::string& key) {
    const Placement place{world_.oracle_.placement(), {key, 0}};
    return LeafId{place.partition(), place.leaf()};
  };
  return std::ranges::all_of(keys,
                             [&](const std::string& key) { return leaf(key) == leaf(keys[0]); });
}

// By one node, another in each run: it takes many questions.
void Aftermath::check_lists() {
  SimNode& node = *nodes_[ledger_.size() % nodes_.size()];
  std::multiset<std::string> told;
  for (List list{.limit = 3}; list.cursor < kListEnd;) {
    const auto part = hear<Keys>(node, list);
    if (!part)
      return world_.fail(
          Invariant::works_after_healing,
          node.name() + " does not list from place " + std::to_string(list.cursor) + " on");
    if (part->keys.size() > list.limit && !in_one_leaf(part->keys))
      return fail(Invariant::bounded, node.name() + " lists " + std::to_string(part->keys.size()) +
                                          " counters of several leaves, where " +
                                          std::to_string(list.limit) + " were asked for");
    told.insert(part->keys.begin(), part->keys.end());
    list.cursor = part->next;
  }
  const auto size = hear<KeyCount>(node, CountKeys{});
  if (!size) return fail(Invariant::works_after_healing, node.name() + " does not count counters");
  if (size->counters != told.size())
    fail(Invariant::lists_are_whole, node.name() + " lists " + std::to_string(told.size()) +
                                         " counters and counts " + std::to_string(size->counters));
  for (const std::string& key : ledger_.keys()) {
    const std::size_t times = told.count(key);
    const Existence existence = existence_.at(key);
    const bool missing = times == 0 && existence == Existence::certain;
    if (missing || times > 1 || (times == 1 && existence == Existence::none))
      fail(Invariant::lists_are_whole,
           node.name() + " lists " + key + " " + std::to_string(times) + " times");
    told.erase(key);
  }
  if (!told.empty())
    fail(Invariant::lists_are_whole,
         node.name() + " lists " + *told.begin() + ", which nobody named");
}

// All are right now. (The one of a node that is alone was trusted while it was ahead, and its time
// stands still until then.)
void Aftermath::check_clocks() {
  if (nodes_.size() == 1) return;
  const auto trusted = [](const SimNode* node) { return node->core()->clock().trusted(); };
  if (world_.wait_for(seconds(2), kStep, [&] { return std::ranges::all_of(nodes_, trusted); }))
    return;
  for (const SimNode* node : nodes_) {
    if (!trusted(node))
      fail(Invariant::clocks_are_judged, node->name() + ": " + node->core()->clock().doubt());
  }
}

// Adds and reads of every level, once no client remembers a full disk: until then the library
// refuses without asking.
void Aftermath::check_it_works() {
  world_.run_for(ClientSettings{}.suspicion);
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
  world_.wait_for(seconds(6), kStep, [&] { return answered == asked; });
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
  if (!world_.wait_for(seconds(6), kStep, [&] { return answered == asked; }))
    fail(Invariant::works_after_healing,
         std::to_string(asked - answered) + " of " + std::to_string(asked) +
             " requests that began after healing were not carried out");
  if (!trace_.failure() && !wire_clients_.empty()) check_plain_adds();
  if (!trace_.failure() && !clients_.empty()) check_big_sums();
}

// Whoever names no session is served through whichever node. The executor may have dropped
// the one that the node had there: then the next add opens another.
void Aftermath::check_plain_adds() {
  std::size_t open = 0;
  std::map<std::string, Code> last;  // by node: what it said to its last add
  const std::string key = ledger_.open_key(KeyKind::witness);
  for (SimNode* node : nodes_) {
    for (const Ack ack : {Ack::memory, Ack::disk, Ack::quorum}) {
      Task task;
      task.key = key;
      task.ack = ack;
      task.begun = time_.now();
      task.op = ledger_.begin_add(task.begun, key, 0);
      task.amount = ledger_.change(task.op).amount;
      ++open;
      wire_clients_[0]->add_through(node->member(), task, [&, node](Code code) {
        --open;
        last[node->name()] = code;
      });
      world_.wait_for(milliseconds(30), milliseconds(5), [&] { return open == 0; });
    }
  }
  const bool answered = world_.wait_for(seconds(6), kStep, [&] { return open == 0; });
  for (const auto& [node, code] : last) {
    if (code == Code::ok || code == Code::overloaded) continue;
    return fail(Invariant::works_after_healing, node + " said " +
                                                    std::string(quipu::describe(code).name) +
                                                    " to adds that name no session");
  }
  if (!answered)
    fail(Invariant::works_after_healing, "an add that names no session was not answered");
}

// Also of a counter that nobody has read for a while: what a node was told of it then is too old.
void Aftermath::check_staleness() {
  const std::string key = ledger_.open_key(KeyKind::witness);
  for (SimNode* node : nodes_) node->ask(key);
  world_.run_for(seconds(1));
  SimNode& through = *nodes_[ledger_.size() % nodes_.size()];
  const Ledger::OpId add = ledger_.begin_add(time_.now(), key, 0);
  const std::int64_t amount = ledger_.change(add).amount;
  through.ask(Op{.key = key, .amount = amount, .ack = Ack::disk});
  world_.wait_for(seconds(2), milliseconds(5), [&] { return through.told().has_value(); });
  const Done* const done = through.told() ? std::get_if<Done>(&*through.told()) : nullptr;
  if (done == nullptr || done->code != Code::ok) return;  // too little room for what waits
  (void)ledger_.on_acked(add, time_.now(), Ack::disk);
  world_.run_for(kOthersAge);
  for (SimNode* node : nodes_) node->ask(key);
  world_.run_for(milliseconds(200));
  for (SimNode* node : nodes_) {
    const auto value = node->answer();
    if (!value || value->code != Code::ok || value->value == amount) continue;
    fail(Invariant::staleness_is_bounded,
         node->name() + " reads " + key + " as " + std::to_string(value->value) + ", " +
             std::to_string(value->age_ms) + " ms old, though an add of " + std::to_string(amount) +
             " was acked before that");
  }
  if (!trace_.failure()) check_ages();
}

// At all distances to the gossip.
void Aftermath::check_ages() {
  constexpr std::size_t kRounds = 20, kKeys = 8;
  const std::vector<std::string>& keys = ledger_.keys();
  const std::size_t recent = std::min(keys.size(), kKeys);
  const std::vector<std::string> newest(keys.end() - static_cast<std::ptrdiff_t>(recent),
                                        keys.end());
  const std::vector<std::string_view> asked(newest.begin(), newest.end());
  const auto check = [this](const SimNode& node, const Value& value, Duration most) {
    if (milliseconds(value.age_ms) <= most) return;
    fail(Invariant::staleness_is_bounded, node.name() + " tells of a counter as it was " +
                                              std::to_string(value.age_ms) +
                                              " ms ago, though nothing fails");
  };
  std::vector<Value> values(recent);
  for (std::size_t round = 0; round < kRounds && !trace_.failure(); ++round) {
    for (SimNode* node : nodes_) {
      node->core()->read_now(node->clock().now(), asked, values);
      for (const Value& value : values) {
        if (value.shards != 0) check(*node, value, kOwnAge);
      }
      node->ask(newest[round % recent]);
    }
    world_.run_for(milliseconds(47));
    for (SimNode* node : nodes_) {
      const auto value = node->answer();
      if (value && value->code == Code::ok) check(*node, *value, kOthersAge);
    }
  }
}

// By one towards the range, or within it, every counter can be added to; and after a reset
// any amount fits again.
void Aftermath::check_big_sums() {
  const auto change = [&](const std::string& key, Task::What what, std::int64_t amount) {
    Task task;
    task.what = what;
    task.key = key;
    task.ack = Ack::quorum;
    task.timeout = seconds(5);
    task.begun = time_.now();
    task.op = what == Task::What::reset ? ledger_.begin_reset(task.begun, key)
                                        : ledger_.begin_add(task.begun, key, amount);
    task.amount = amount;
    std::optional<Code> code;
    clients_[0]->call(task,
                      [&](const ClientAnswer& answer) { code = std::get<Status>(answer).code(); });
    world_.wait_for(seconds(6), milliseconds(5), [&] { return code.has_value(); });
    return code.value_or(Code::in_doubt);
  };
  std::size_t looked = 0;
  const std::vector<std::string> keys = ledger_.keys();
  for (const std::string& key : keys) {
    if (ledger_.kind(key) != KeyKind::big_sum || ++looked > 4) continue;
    if (change(key, Task::What::add, 1) == Code::out_of_range &&
        change(key, Task::What::add, -1) == Code::out_of_range)
      fail(Invariant::works_after_healing, key + " can be added to neither upwards nor downwards");
    if (change(key, Task::What::reset, 0) != Code::ok) continue;
    for (const std::int64_t amount : {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
      const Code code = change(key, Task::What::add, amount);
      if (code == Code::out_of_range)
        fail(Invariant::works_after_healing, key + " was cleared, and takes no big amount");
    }
    if (trace_.failure()) return;
  }
}

}  // namespace quipu::sim
