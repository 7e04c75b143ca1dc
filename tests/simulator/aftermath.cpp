#include "tests/simulator/aftermath.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "cluster/client/settings.h"
#include "protocol/shard_number.h"
#include "storage/kinds/distinct.h"
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
  if (!trace_.failure()) check_staleness_of_elements();
  if (!trace_.failure() && world_.ends_) check_strong_ends();
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

// Nothing, or who counts under another actor than its disk has.
std::string Aftermath::who_has_another_actor() const {
  for (const SimNode* node : nodes_) {
    for (const Partition partition : Partitions::all()) {
      const ActorId actor = node->core()->executor().actor(partition);
      if (actor != ActorId{} && actor != world_.oracle_.own_actor(node->member(), partition))
        return node->name() + " has another actor than its disk, in partition " +
               std::to_string(raw(partition));
    }
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
  const auto under_their_actors = [this] { return who_has_another_actor().empty(); };
  if (!world_.wait_for(seconds(5), kStep, under_their_actors))
    fail(Invariant::actor_comes_back, who_has_another_actor());
  nemesis_.check_identities();
  if (!trace_.failure() && world_.transactions_) check_transactions();
  if (!trace_.failure() && world_.homes_) check_homes();
  if (!trace_.failure() && world_.elements_) check_elements();
  if (!trace_.failure() && world_.items_) check_items();
  if (!trace_.failure() && world_.windows_) check_windows();
  if (!trace_.failure() && world_.ends_) check_ends();
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

// With little memory, what was evicted is found by the slow scan alone.
void Aftermath::check_ends() {
  EndsClients& clients = *world_.ends_;
  clients.end_all();
  if (!world_.wait_for(seconds(15), kStep, [&] { return clients.all_have_an_end(); }))
    return fail(Invariant::works_after_healing, "a counter cannot be given an end");
  const Instant ended = clients.all_ended();
  world_.run_for(ended - time_.now());
  const auto nobody_shows = [&] {
    if (const std::string shown = clients.who_shows(); !shown.empty())
      fail(Invariant::ended_stays_ended, shown);
    return !trace_.failure();
  };
  const auto gone = [&] { return nobody_shows() && clients.who_holds().empty(); };
  const bool evicts = world_.options_.has(Knob::small_memory);
  if (!world_.wait_for(seconds(evicts ? 10 : 30), kStep, gone) && !evicts)
    fail(Invariant::purged_is_gone, clients.who_holds());
  world_.run_for(seconds(1));
  if (!trace_.failure() && nobody_shows() && !nodes_.empty()) check_new_life();
  if (!trace_.failure() && nodes_.size() > 1) check_absence();
  world_.run_for(seconds(11));  // key counts have what ended until a sweep finds it
}

void Aftermath::check_transactions() {
  const std::vector<TransactionClients::Pair> pairs = world_.transactions_->pairs();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto first = strong_total(*nodes_[0], pairs[i].first);
    const auto second = strong_total(*nodes_[0], pairs[i].second);
    if (!first || !second)
      return fail(Invariant::works_after_healing,
                  "a strong read of a transaction's counter has no answer");
    if (const std::string torn = world_.transactions_->what_is_torn(i, *first, *second);
        !torn.empty())
      return fail(Invariant::transactions_are_whole, torn);
  }
}

void Aftermath::check_homes() {
  const std::vector<std::string> keys = world_.homes_->keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto total = strong_total(*nodes_[0], keys[i]);
    if (!total)
      return fail(Invariant::works_after_healing,
                  "a strong read of a counter that is decided about at home has no answer");
    if (const std::string passed = world_.homes_->what_is_passed(i, *total); !passed.empty())
      return fail(Invariant::decided_at_home, passed);
  }
}

void Aftermath::check_elements() {
  ElementClients& clients = *world_.elements_;
  clients.ask_all();
  if (!world_.wait_for(seconds(5), kStep, [&] { return clients.waiting() == 0; }))
    return fail(Invariant::every_call_ends, "a query of elements has no answer");
  // An owner of which one differs gets the join with the write-back of the query, or soon after it.
  std::string wrong;
  const auto right = [&] { return (wrong = clients.what_is_wrong()).empty(); };
  if (!world_.wait_for(seconds(2), kStep, right)) fail(Invariant::distinct_is_exact, wrong);
}

void Aftermath::check_items() {
  ItemClients& clients = *world_.items_;
  clients.ask_all();
  if (!world_.wait_for(seconds(5), kStep, [&] { return clients.waiting() == 0; }))
    return fail(Invariant::every_call_ends, "a query about items has no answer");
  std::string wrong;
  const auto right = [&] { return (wrong = clients.what_is_wrong()).empty(); };
  if (!world_.wait_for(seconds(2), kStep, right)) fail(Invariant::items_count_once, wrong);
}

void Aftermath::check_windows() {
  WindowsClients& clients = *world_.windows_;
  if (!clients.defined()) return;
  const auto answered = [&] { return clients.waiting() == 0; };
  if (!world_.wait_for(seconds(15), kStep, answered))
    return fail(Invariant::every_call_ends, "a question about windows has no answer");
  // The second time, the windows of the first are still kept, some of them barely.
  for (int round = 0; round < 2; ++round) {
    if (round > 0) world_.run_for(seconds(20));
    clients.ask_all();
    if (!world_.wait_for(seconds(15), kStep, answered))
      return fail(Invariant::works_after_healing,
                  "a strong range has no answer though nothing fails");
  }
  // One node is away until all have gone elsewhere, and comes back with its own.
  SimNode* const away = nodes_.size() > 1 ? nodes_[ledger_.size() % nodes_.size()] : nullptr;
  if (away != nullptr) away->crash();
  world_.run_for(clients.all_gone() - time_.now());
  if (away != nullptr && !away->start())
    return fail(Invariant::no_crash, away->refusal().message());
  if (!world_.wait_for(seconds(30), kStep, [this] { return world_.everybody_whole(); }))
    return fail(Invariant::all_ready_after_healing, "a node was away, and is not ready");
  const bool evicts = world_.options_.has(Knob::small_memory);
  const auto gone = [&] { return clients.who_holds().empty(); };
  if (!world_.wait_for(seconds(30), kStep, gone) && !evicts)
    fail(Invariant::purged_is_gone, clients.who_holds());
  if (const std::string who = clients.who_gave_up(); !who.empty())
    fail(Invariant::actor_is_kept, who);
}

bool Aftermath::change(SimNode& node, Op op) {
  if (hear<Done>(node, op)) return true;
  fail(Invariant::works_after_healing,
       node.name() + " does not change " + std::string(op.key) + " though nothing fails");
  return false;
}

// A key that ends, which that node owns.
std::string Aftermath::key_of(const SimNode& owner, std::string_view name) const {
  std::string key;
  for (int i = 0;; ++i) {
    key = std::string(kEndsPrefix) + std::string(name) + std::to_string(i);
    const Partition home = Placement{world_.oracle_.placement(), {key, 0}}.partition();
    if (config_.owners.owns(owner.member(), home)) return key;
  }
}

// More of the key's partition than a small outbox has room for.
std::vector<std::string> Aftermath::keys_beside(const std::string& key) const {
  const auto partition_of = [this](const std::string& name) {
    return Placement{world_.oracle_.placement(), {name, 0}}.partition();
  };
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 4; ++i) {
    std::string beside = std::string(kEndsPrefix) + "beside:" + std::to_string(i);
    if (partition_of(beside) == partition_of(key)) keys.push_back(std::move(beside));
  }
  return keys;
}

// An add right after an end counts, although the clock of its node may be behind that end.
void Aftermath::check_new_life() {
  std::vector<SimNode*> owners;
  std::ranges::copy_if(nodes_, std::back_inserter(owners), [this](const SimNode* node) {
    return config_.members[node->member()].weight > 0;
  });
  const auto by_clock = [](const SimNode* a, const SimNode* b) { return a->wall() < b->wall(); };
  SimNode& slow = **std::ranges::min_element(owners, by_clock);
  SimNode& fast = **std::ranges::max_element(owners, by_clock);
  check_strong_end(slow, fast, "soon:");
  if (trace_.failure()) return;
  for (SimNode* first : {&fast, &slow}) {
    const std::string key = key_of(slow, first == &fast ? "again:" : "once more:");
    if (!change(*first, {.key = key, .amount = 1, .ack = Ack::quorum}) ||
        !change(fast, {.key = key, .kind = OpKind::reset, .ack = Ack::quorum}))
      return;
    // One that has not heard of the end may count into the life that it ends.
    const auto heard = [&] {
      const ShardMap& map = slow.core()->executor().map();
      const Placement place = map.place({key, 0});
      const Entry* const entry = map.index().find(place, {key, 0});
      return !map.resident(place, {key, 0}) || entry == nullptr || !entry->total().exists;
    };
    (void)world_.wait_for(seconds(2), milliseconds(5), heard);
    if (!change(slow, {.key = key, .amount = 4, .ack = Ack::quorum})) return;
    world_.ends_->watch(key);
    world_.run_for(milliseconds(500));
    slow.ask_strongly({key}, seconds(2));
    const auto right = [&] {
      const auto value = slow.answer();
      if (value && value->code == Code::ok) return value->value > 0 && value->value % 4 == 0;
      if (value) slow.ask_strongly({key}, seconds(2));
      return false;
    };
    if (!world_.wait_for(seconds(5), milliseconds(20), right))
      return fail(Invariant::counts_in_one_life,
                  "an add of 4 to " + key +
                      " right after its end was acked at quorum, and a strong "
                      "read tells " +
                      (slow.answer() ? std::to_string(slow.answer()->value) : "nothing"));
    if (!change(slow, {.key = key, .kind = OpKind::reset, .ack = Ack::quorum})) return;
  }
}

// What a strong read tells that this node begins now. Nothing: it has no answer.
std::optional<std::int64_t> Aftermath::strong_total(SimNode& node, const std::string& key) {
  node.ask_strongly({key}, seconds(2));
  const auto told = [&] {
    const auto answer = node.answer();
    if (answer && answer->code == Code::ok) return true;
    if (answer) node.ask_strongly({key}, seconds(2));
    return false;
  };
  if (!world_.wait_for(seconds(5), milliseconds(5), told)) return std::nullopt;
  return node.answer()->value;
}

// What one strong read calls ended, no later one shows, by whichever clock.
void Aftermath::check_strong_end(SimNode& slow, SimNode& fast, const std::string& name) {
  const std::string key = key_of(slow, name);
  if (!change(slow, {.key = key, .amount = 1, .ttl_ms = 1000, .ack = Ack::quorum})) return;
  if (!world_.wait_for(seconds(8), milliseconds(5), [&] { return strong_total(fast, key) == 0; }))
    return fail(Invariant::ended_stays_ended, fast.name() + " never reads that " + key + " ended");
  if (strong_total(slow, key) != 0)
    fail(Invariant::ended_stays_ended,
         slow.name() + " reads " + key + " strongly after a strong read told that it had ended");
}

// A sweep may come between the two reads, and then says the same. So, several times.
void Aftermath::check_strong_ends() {
  std::vector<SimNode*> owners;
  std::ranges::copy_if(nodes_, std::back_inserter(owners), [this](const SimNode* node) {
    return node->running() && config_.members[node->member()].weight > 0;
  });
  if (owners.empty()) return;
  const auto clock = [](const SimNode* node) { return node->wall(); };
  SimNode& slow = *std::ranges::min(owners, {}, clock);
  SimNode& fast = *std::ranges::max(owners, {}, clock);
  for (int round = 0; round < 8 && !trace_.failure(); ++round)
    check_strong_end(slow, fast, "at once " + std::to_string(round) + ':');
}

// A node is away while counters end: one that had no end when it left, one that had a later one,
// and one that has ended by itself.
void Aftermath::check_absence() {
  const auto owns_some = [this](const SimNode* node) {
    return config_.members[node->member()].weight > 0;
  };
  const auto at = std::ranges::find_if(nodes_, owns_some);
  SimNode& away = **at;
  SimNode& here = *nodes_[at == nodes_.begin() ? 1 : 0];
  const std::string endless = key_of(away, "endless:"), late = key_of(away, "late:"),
                    alone = key_of(away, "alone:"), anew = key_of(away, "anew:");
  const std::uint64_t hour = 3'600'000;
  if (!change(here, {.key = endless, .amount = 1, .ack = Ack::quorum}) ||
      !change(here, {.key = late, .amount = 1, .ttl_ms = hour, .ack = Ack::quorum}) ||
      !change(here, {.key = alone, .amount = 1, .ttl_ms = 3000, .ack = Ack::quorum}) ||
      !change(here, {.key = anew, .amount = 1, .ttl_ms = 3000, .ack = Ack::quorum}) ||
      !change(away, {.key = anew, .amount = 16, .ttl_ms = 3000, .ack = Ack::quorum}))
    return;
  std::vector<std::string> to_end{endless, late};
  if (world_.options_.has(Knob::small_outbox)) {
    for (std::string& key : keys_beside(endless)) {
      if (!change(here, {.key = key, .amount = 1, .ack = Ack::quorum})) return;
      to_end.push_back(std::move(key));
    }
  }
  world_.run_for(seconds(2));  // until it has them, too
  away.crash();
  world_.run_for(seconds(1));
  const auto soon = [&] {
    return (here.true_wall() + milliseconds(300)).time_since_epoch().count();
  };
  for (const std::string& key : to_end) {
    if (!change(here, {.key = key, .amount = soon(), .kind = OpKind::expire})) return;
    world_.ends_->watch(key);
  }
  world_.ends_->watch(alone);
  world_.run_for(seconds(35));
  // A new life, with an end or without.
  if (!change(here, {.key = anew, .amount = 4, .ttl_ms = ledger_.size() % 2 == 0 ? hour : 0}))
    return;
  world_.run_for(seconds(1));
  if (!away.start()) return fail(Invariant::no_crash, away.refusal().message());
  // From memory: a strong read would repair a copy.
  const auto knows = [&](const SimNode* node) {
    const std::array<std::string_view, 1> name{anew};
    std::array<Value, 1> value;
    node->core()->read_now(node->clock().now(), name, value);
    return value[0].shards == 0 || value[0].value == 4;
  };
  std::set<const SimNode*> informed;
  const auto whole = [&] {
    for (const SimNode* node : nodes_) {
      if (knows(node)) {
        informed.insert(node);
      } else if (node != &away && informed.contains(node)) {
        fail(Invariant::counts_in_one_life, node->name() + " knew the new life of " + anew +
                                                " until " + away.name() + " came back");
      }
    }
    return world_.everybody_whole();
  };
  if (!world_.wait_for(seconds(30), milliseconds(20), whole))
    return fail(Invariant::all_ready_after_healing, away.name() + " was away, and is not ready");
  const auto stays = [&] { return whole() && knows(&away); };
  (void)world_.wait_for(seconds(2), milliseconds(20), [&] { return !whole(); });
  if (trace_.failure()) return;
  if (!world_.wait_for(seconds(4), milliseconds(100), stays))
    return fail(Invariant::counts_in_one_life,
                away.name() + " came back, and does not know the new life of " + anew);
  for (SimNode* node : nodes_) {
    if (!world_.wait_for(seconds(5), milliseconds(200),
                         [&] { return strong_total(*node, anew) == 4; }))
      return fail(Invariant::counts_in_one_life,
                  "after a node was away, " + node->name() + " reads the new life of " + anew +
                      " as " +
                      (node->answer() ? std::to_string(node->answer()->value) : "nothing"));
  }
  if (!change(here, {.key = anew, .kind = OpKind::reset})) return;
  world_.ends_->watch(anew);
  EndsClients& clients = *world_.ends_;
  const bool evicts = world_.options_.has(Knob::small_memory);
  // What is in the store alone is not shown, so it must also be what the other owners have.
  const auto gone = [&] {
    return who_differs().empty() && clients.who_shows().empty() &&
           (evicts || clients.who_holds().empty());
  };
  if (world_.wait_for(seconds(30), kStep, gone)) {
    world_.run_for(seconds(3));  // they may forget it one after the other
  } else if (const std::string who = who_differs(); !who.empty()) {
    return fail(Invariant::owners_agree_after_healing, "after a node was away, " + who);
  }
  if (const std::string shown = clients.who_shows(); !shown.empty())
    return fail(Invariant::ended_stays_ended, "after a node was away, " + shown);
  if (const std::string held = clients.who_holds(); !held.empty() && !evicts)
    fail(Invariant::purged_is_gone, "after a node was away, " + held);
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
  // What ended in the store alone is counted until a slow scan finds it.
  const bool evicts = world_.options_.has(Knob::small_memory);
  const std::size_t unknown = world_.ends_ && evicts ? world_.ends_->counters() : 0;
  if (size->counters < told.size() || size->counters > told.size() + unknown)
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
  std::erase_if(told, [](const std::string& key) {
    return key.starts_with(kWindowsPrefix) || key.starts_with(kTogetherPrefix) ||
           key.starts_with(kHomesPrefix) || key.starts_with(kElementsPrefix) ||
           key.starts_with(kItemsPrefix);
  });
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

// The same of another kind, whose answers are cached where others own the counter.
void Aftermath::check_staleness_of_elements() {
  constexpr std::size_t kRounds = 20;
  const std::string key = std::string(kElementsPrefix) + "late";
  const std::uint64_t element = 7;
  const std::string words = distinct::words_of({&element, 1});
  // Shared, since an answer may come after this check.
  const auto replies = std::make_shared<std::vector<std::optional<QueryReply>>>(nodes_.size());
  const auto ask_all = [&] {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      (*replies)[i].reset();
      nodes_[i]->ask(
          Query{.level = ReadLevel::local, .timeout_ms = 1000, .keys = {key}},
          [replies, i](const Answer& answer) { (*replies)[i] = std::get<QueryReply>(answer); });
    }
  };
  ask_all();
  world_.run_for(seconds(1));
  const auto added = std::make_shared<std::optional<Code>>();
  nodes_[ledger_.size() % nodes_.size()]->ask(
      Op{.key = key,
         .words = words,
         .timeout_ms = 1000,
         .shard = shard_of(Kind::distinct),
         .kind = OpKind::apply,
         .ack = Ack::disk},
      [added](const Answer& answer) { *added = std::get<Done>(answer).code; });
  world_.wait_for(seconds(2), milliseconds(5), [&] { return added->has_value(); });
  if (*added != Code::ok) return;  // too little room for what waits
  world_.run_for(kOthersAge);
  for (std::size_t round = 0; round < kRounds && !trace_.failure(); ++round) {
    ask_all();
    world_.run_for(milliseconds(47));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const std::optional<QueryReply>& reply = (*replies)[i];
      if (!reply || reply->code != Code::ok) continue;
      const auto count = distinct::count(reply->reply);
      if (count == 1 && milliseconds(reply->age_ms) <= kOthersAge) continue;
      fail(Invariant::staleness_is_bounded,
           nodes_[i]->name() + " counts " + std::to_string(count.value_or(0)) + " elements of " +
               key + ", " + std::to_string(reply->age_ms) +
               " ms old, though one was acked before that, and nothing fails");
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
