#include "tests/simulator/namespaces.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kOwnDraws = 0x6e73;  // so that the other draws of a seed stay as they are
constexpr std::array<std::string_view, 6> kNames{"", "witness", "negative", "signed", "big", "x"};
constexpr std::uint64_t kPaceMs = 400;

using Definitions = NamespaceTable::Definitions;

// On that disk, as a start would find them.
Definitions at_rest(const SimNode& node) {
  Definitions found;
  const auto [from, to] = stored::all(stored::Type::name_space);
  const auto& durable = node.disk().bytes().durable;
  for (auto at = durable.lower_bound(from); at != durable.end() && at->first < to; ++at) {
    NamespaceDefinition definition = decode_namespace(at->first, at->second).value();
    found.emplace(definition.name, std::move(definition));
  }
  return found;
}

const NamespaceDefinition& find(const Definitions& all, std::string_view name) {
  static const NamespaceDefinition kNone;
  const auto at = all.find(name);
  return at == all.end() ? kNone : at->second;
}

NamespacePolicy draw_policy(Random& random, const Options& options, std::string_view name) {
  NamespacePolicy policy;
  if (random.below(2) == 0) policy.ack = Ack{static_cast<std::uint8_t>(random.below(3))};
  if (random.below(2) == 0) policy.read = ReadLevel{static_cast<std::uint8_t>(random.below(3))};
  const std::uint64_t shards = random.below(5), strict = random.below(6);
  // The shards of a new counter would overfill an outbox of 3 shards. Its adds at quorum would wait
  // for a repair, in doubt.
  // And what is spread has no end.
  const bool spreads = options.has(Knob::shards) && !options.has(Knob::small_outbox) &&
                       !(name.empty() && options.has(Knob::ends));
  if (shards > 0 && spreads) policy.shards = static_cast<std::uint16_t>(shards);
  if (strict < 2 && name.empty()) policy.strict = strict == 0;
  return policy;
}

const char* name_of(NamespaceAction action) {
  static constexpr const char* kNamesOfActions[] = {"list", "create", "set", "drop"};
  return kNamesOfActions[static_cast<int>(action)];
}

}  // namespace

NamespaceClients::NamespaceClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                                   const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      options_(options),
      random_(options.seed ^ kOwnDraws) {}

// ---- while it runs ----

void NamespaceClients::work() {
  if (stopped_) return;
  change();
  shared_.time.in(milliseconds(1 + random_.below(kPaceMs)), [this] { work(); });
}

void NamespaceClients::change() {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  NamespaceRequest request;
  request.name = kNames[random_.below(kNames.size())];
  const std::uint64_t draw = random_.below(8);
  request.action = draw < 2   ? NamespaceAction::create
                   : draw < 6 ? NamespaceAction::set
                              : NamespaceAction::drop;
  request.policy = draw_policy(random_, options_, request.name);
  request.fields = static_cast<std::uint8_t>(random_.below(16));
  request.timeout_ms = static_cast<std::uint32_t>(200 + random_.below(4000));
  ask(node, request);
}

void NamespaceClients::ask(SimNode& node, const NamespaceRequest& request) {
  const auto change = std::make_shared<Change>();
  change->name = request.name;
  change->action = request.action;
  ++shared_.trace.operations["changes of namespaces"];
  node.ask(
      request,
      {[this, change, &node](const NamespaceTable& table) {
         const NamespaceDefinition& now = find(table.all(), change->name);
         change->begun = shared_.time.now();
         // A change is later than any before, and its clock is not ahead of it.
         const bool drops = change->action == NamespaceAction::drop;
         const Wall wall = node.core()->clock().at(node.clock().now());
         const auto at = static_cast<std::uint64_t>(wall.time_since_epoch().count());
         change->stamp = std::max(drops ? now.dropped : now.changed, Stamp{at, NodeId{}});
       },
       [this, change, &node](const NamespaceReply& reply) { on_reply(node, *change, reply); }});
}

// A create or a set is gone only after a drop that is later than it.
bool NamespaceClients::Change::is_in(const NamespaceDefinition& held) const {
  if (held.dropped >= stamp) return true;
  return action != NamespaceAction::drop && held.changed >= stamp && is_defined(held);
}

// Everyone whom it does not name holds it, at this very moment.
void NamespaceClients::on_reply(const SimNode& node, Change change, const NamespaceReply& reply) {
  shared_.trace.mark(static_cast<std::uint64_t>(reply.code) + reply.absent.size() * 64);
  shared_.trace.say(shared_.time.now(), [&] {
    std::string text = node.name() + " answers to " + describe(change) + ": " +
                       std::string(quipu::describe(reply.code).name);
    for (const std::string& name : reply.absent) text += ", without " + name;
    return text;
  });
  if (reply.code != Code::ok) return;
  change.acked = shared_.time.now();
  for (const SimNode* one : nodes_) {
    if (std::ranges::count(reply.absent, one->name()) > 0) continue;
    if (ledger_.disk_lost_since(one->member(), change.begun)) continue;
    change.holders.push_back(one->member());
    if (!change.is_in(find(at_rest(*one), change.name)))
      shared_.trace.fail(shared_.time.now(), Invariant::namespaces_agree,
                         node.name() + " has acked " + describe(change) + ", which is not on " +
                             one->name() + "'s disk");
  }
  relaxed_ |= stopped_;
  acked_.push_back(std::move(change));
}

std::string NamespaceClients::describe(const Change& change) const {
  return std::string(name_of(change.action)) + " of namespace '" + change.name + "' (stamp " +
         std::to_string(change.stamp.at) + ")";
}

// ---- once nothing fails any more ----

std::size_t NamespaceClients::waiting() const {
  std::size_t all = 0;
  for (const SimNode* node : nodes_) all += node->asked_namespaces();
  return all;
}

std::string NamespaceClients::who_differs() const {
  const Definitions& first = nodes_[0]->core()->executor().namespaces().all();
  for (const SimNode* node : nodes_) {
    const NamespaceTable& table = node->core()->executor().namespaces();
    for (const std::string_view name : kNames) {
      if (find(table.all(), name) != find(first, name))
        return node->name() + " and " + nodes_[0]->name() + " differ in namespace '" +
               std::string(name) + "'";
    }
    if (table.all() != first) return node->name() + " holds a namespace that nobody defined";
    if (at_rest(*node) != table.all())
      return node->name() + " has other definitions at rest than in memory";
  }
  return {};
}

std::string NamespaceClients::what_is_lost() const {
  const Definitions& held = nodes_[0]->core()->executor().namespaces().all();
  for (const Change& change : acked_) {
    const bool survives = std::ranges::any_of(change.holders, [&](MemberIndex holder) {
      return !ledger_.disk_lost_since(holder, change.acked);
    });
    if (survives && !change.is_in(find(held, change.name)))
      return "the acked " + describe(change) + " is lost";
  }
  return {};
}

void NamespaceClients::relax() {
  relaxed_ = false;
  ask(*nodes_[random_.below(nodes_.size())], {.action = NamespaceAction::set,
                                              .policy = {.strict = false},
                                              .fields = NamespaceRequest::kStrict,
                                              .timeout_ms = 4000});
}

}  // namespace quipu::sim
