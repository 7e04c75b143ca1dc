#include "cluster/replication/namespace_sync.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"
#include "protocol/frame.h"

namespace quipu {
namespace {

// A list has all policies that a table may hold, and that of the default namespace. Each takes less
// than 240 bytes beside its name.
static_assert((NamespaceTable::kMostHeld + 1) * (kMaxNamespaceName + 240) < kMaxFrame);

// Each definition of a message between members takes less than 600 bytes beside its name.
static_assert(kMaxDefinitions * (kMaxNamespaceName + 600) < kMaxFrame);

constexpr const char* kFixed =
    "the kind of a namespace's counters, and their precision, are fixed when it is created: no set "
    "changes or unsets them";

// Whether a set names another kind or precision than there is.
bool changes_kind(const NamespaceRequest& set, const NamespacePolicy& shown) {
  using Request = NamespaceRequest;
  return ((set.fields & Request::kKind) != 0 && set.policy.kind != shown.kind) ||
         ((set.fields & Request::kPrecision) != 0 && set.policy.precision != shown.precision);
}

std::string quoted(std::string_view name) { return " '" + std::string(name) + "'"; }

}  // namespace

NamespaceSync::NamespaceSync(const View& view, Executor& executor, Outbound& out,
                             const NodeSettings& settings)
    : view_(view),
      executor_(executor),
      out_(out),
      settings_(settings),
      sum_(executor.namespaces().sum()),
      told_(view.config().members.size()),
      send_from_(view.config().members.size()) {}

// ---- changes ----

Status NamespaceSync::check(const NamespaceRequest& request,
                            const NamespaceDefinition& changed) const {
  using Action = NamespaceAction;
  const auto invalid = [](std::string why) {
    return Status{Code::invalid_argument, std::move(why)};
  };
  const std::string_view name = request.name;
  if (std::string why = objection(name, changed.policy); !why.empty())
    return invalid(std::move(why));
  const NamespaceTable& table = executor_.namespaces();
  const NamespaceDefinition* const held = table.find(name);
  const NamespacePolicy shown = held == nullptr ? NamespacePolicy{} : shown_policy(*held);
  const bool exists = name.empty() || (held != nullptr && is_defined(*held));
  // A client may send a request again when it has lost the answer.
  const bool again = held != nullptr && shown == request.policy;
  const bool same_kind =
      request.policy.kind == shown.kind && request.policy.precision == shown.precision;
  if (request.action == Action::create && name.empty())
    return invalid("the default namespace exists: set changes it");
  if (request.action == Action::create && exists && !again)
    return invalid("the namespace" + quoted(name) +
                   " exists with other settings: " + (same_kind ? "set changes it" : kFixed));
  if (request.action == Action::set && !exists)
    return invalid("there is no namespace" + quoted(name) + ": create it");
  if (request.action == Action::set && changes_kind(request, shown)) return invalid(kFixed);
  if (request.action == Action::drop && held == nullptr && !name.empty())
    return invalid("there is no namespace" + quoted(name));
  if (request.action == Action::drop && name.empty())
    return invalid("the default namespace cannot be dropped: set changes it");
  if (held == nullptr && !name.empty() && table.named() >= kMaxNamespaces) {
    return invalid("a cluster has at most " + std::to_string(kMaxNamespaces) +
                   " namespaces, dropped ones included: use one that exists, or create one again "
                   "that was dropped");
  }
  if (held != nullptr && std::max(held->changed, held->dropped).at >= kLatestStamp)
    return invalid("no change of it can be later than the last one, whose clock was wrong");
  if (waits_.size() >= settings_.pending_operations)
    return {Code::overloaded, "too many changes of namespaces wait for other members"};
  if (view_.full(view_.self())) return {Code::storage_full, "this node's disk is full"};
  return {};
}

// Also one that finds nothing to change takes a new stamp: other members may hold a later change,
// which this node has not heard of.
NamespaceDefinition NamespaceSync::changed(Wall wall, const NamespaceRequest& request) const {
  NamespaceDefinition definition;
  if (const auto* held = executor_.namespaces().find(request.name)) definition = *held;
  const NamespaceDefinition before = definition;
  definition.name = request.name;
  const std::uint64_t latest = std::max(definition.changed.at, definition.dropped.at);
  const auto now = static_cast<std::uint64_t>(wall.time_since_epoch().count());
  const Stamp stamp{std::max(now, latest + 1), view_.config().members[view_.self()].id};
  using Request = NamespaceRequest;
  switch (request.action) {
    case NamespaceAction::create:
      if (request.policy.kind && !fixed_kind(before)) {
        definition.fixed.push_back(
            {stamp, *request.policy.kind, request.policy.precision.value_or(0)});
      }
      definition.policy = request.policy;
      definition.changed = stamp;
      break;
    case NamespaceAction::set:
      definition.policy = shown_policy(before);
      if ((request.fields & Request::kAck) != 0) definition.policy.ack = request.policy.ack;
      if ((request.fields & Request::kRead) != 0) definition.policy.read = request.policy.read;
      if ((request.fields & Request::kShards) != 0)
        definition.policy.shards = request.policy.shards;
      if ((request.fields & Request::kTtl) != 0) definition.policy.ttl = request.policy.ttl;
      if ((request.fields & Request::kDecide) != 0)
        definition.policy.decide = request.policy.decide;
      if ((request.fields & Request::kTiers) != 0) definition.policy.tiers = request.policy.tiers;
      if ((request.fields & Request::kLate) != 0) definition.policy.late = request.policy.late;
      if ((request.fields & Request::kStrict) != 0)
        definition.policy.strict = request.policy.strict;
      definition.changed = stamp;
      break;
    case NamespaceAction::drop:
      definition.dropped = stamp;
      break;
    case NamespaceAction::list:
      QUIPU_CHECK(false, "a list changes nothing", request.id);
  }
  if (request.action != NamespaceAction::drop) note_windows(definition, before, stamp.at);
  return definition;
}

void NamespaceSync::on_request(Instant now, Wall wall, ClientId client,
                               const NamespaceRequest& request) {
  if (request.action == NamespaceAction::list) {
    out_.answer(client, NamespaceReply{.id = request.id, .namespaces = defined()});
    return;
  }
  const NamespaceDefinition definition = changed(wall, request);
  if (const Status wrong = check(request, definition); !wrong.ok()) {
    out_.answer(client,
                NamespaceReply{
                    .id = request.id, .code = wrong.code(), .detail = std::string(wrong.detail())});
    return;
  }
  join(definition);
  waits_.push_back(
      {client, request.id, executor_.covering(), settings_.deadline(now, request.timeout_ms)});
  finish_waits();
}

bool NamespaceSync::agrees_with_peers() const {
  for (MemberIndex member = 0; member < told_.size(); ++member) {
    if (view_.up(member) && !holds(member)) return false;
  }
  return true;
}

void NamespaceSync::define_missing(const std::vector<Namespace>& wanted) {
  const Stamp long_ago{1, view_.config().members[view_.self()].id};
  for (const Namespace& one : wanted) {
    if (executor_.namespaces().find(one.name) != nullptr) continue;
    NamespaceDefinition definition{.name = one.name, .changed = long_ago, .policy = one.policy};
    note_windows(definition, {}, long_ago.at);
    join(definition);
  }
}

void NamespaceSync::join(const NamespaceDefinition& definition) {
  if (!executor_.merge_namespace(definition)) return;
  const Commit commit = executor_.covering();
  if (pending_.empty() || pending_.back().commit != commit) pending_.push_back({commit, {}});
  pending_.back().sum = executor_.namespaces().sum();
}

std::vector<Namespace> NamespaceSync::defined() const {
  std::vector<Namespace> list;
  if (executor_.namespaces().find({}) == nullptr) list.emplace_back();  // the default one
  for (const auto& [name, definition] : executor_.namespaces().all()) {
    if (is_defined(definition)) list.push_back({name, shown_policy(definition)});
  }
  return list;
}

// ---- members ----

bool NamespaceSync::holds(MemberIndex member) const {
  return member == view_.self() || (view_.up(member) && told_[member] == sum_);
}

std::vector<std::string> NamespaceSync::absent() const {
  std::vector<std::string> names;
  for (MemberIndex member = 0; member < told_.size(); ++member) {
    if (!holds(member)) names.push_back(view_.config().members[member].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Sends all of them: a node holds few, and changes are rare. If some are not durable here, the
// next heartbeat is soon enough. (A busy peer also sends heartbeats with its acks, many in an
// interval, and its sum changes only after a sync.)
void NamespaceSync::on_heartbeat(Instant now, MemberIndex from, const Hash128& sum) {
  told_[from] = sum;
  if (sum == sum_) return finish_waits();
  if (!pending_.empty() || now < send_from_[from]) return;
  if (executor_.namespaces().all().empty()) return;
  send_from_[from] = now + settings_.gossip_interval;
  Namespaces message;
  for (const auto& [name, definition] : executor_.namespaces().all()) {
    message.definitions.push_back(definition);
    if (message.definitions.size() == kMaxDefinitions) out_.send(from, std::exchange(message, {}));
  }
  if (!message.definitions.empty()) out_.send(from, std::move(message));
}

void NamespaceSync::on_definitions(const Namespaces& told) {
  for (const NamespaceDefinition& definition : told.definitions) join(definition);
}

void NamespaceSync::on_link_lost(MemberIndex member) {
  told_[member].reset();
  send_from_[member] = {};
  finish_waits();
}

void NamespaceSync::on_durable(Commit durable) {
  durable_ = durable;
  for (; !pending_.empty() && pending_.front().commit <= durable; pending_.pop_front())
    sum_ = pending_.front().sum;
  finish_waits();
}

// ---- replies ----

void NamespaceSync::finish_waits() {
  if (waits_.empty() || !agrees_with_peers()) return;
  std::erase_if(waits_, [this](const Wait& wait) {
    if (wait.commit > durable_) return false;
    out_.answer(wait.client, NamespaceReply{.id = wait.id, .absent = absent()});
    return true;
  });
}

void NamespaceSync::on_tick(Instant now) {
  std::erase_if(waits_, [&](const Wait& wait) {
    if (wait.deadline > now) return false;
    NamespaceReply reply{.id = wait.id, .absent = absent()};
    if (wait.commit > durable_) {
      reply.code = Code::in_doubt;
      reply.detail = "the definition is not on this node's disk yet";
    }
    out_.answer(wait.client, std::move(reply));
    return true;
  });
}

}  // namespace quipu
