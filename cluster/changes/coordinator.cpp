#include "cluster/changes/coordinator.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "protocol/check.h"
#include "storage/kinds/kind.h"
#include "storage/kinds/parts.h"

namespace quipu {
namespace {

const char* text(Code code) {
  switch (code) {
    case Code::out_of_range:
      return "the sum of the counter, or of one of its windows, would leave the signed 64-bit "
             "range, or it has too many writers";
    case Code::token_reused:
      return "this token was used for another change";
    case Code::token_expired:
      return "this token's number is below its session's floor, or the session was dropped";
    case Code::session_window:
      return "this session has too many numbers above its floor";
    case Code::in_doubt:
      return "this store waits for its peers to confirm that it lost nothing";
    case Code::invalid_argument:
      return "the counter has fewer shards: raise them first";
    case Code::unavailable:
      return "no owner of the counter's first shard is reachable";
    case Code::no_quorum:
      return "no majority of the shard's owners is reachable";
    case Code::storage_full:
      return "the executor's disk is full";
    case Code::overloaded:
      return "too many operations wait for peers, or for the executor's disk";
    default:
      return "";
  }
}

// For any shard: the first.
ShardRef shard_of(const Op& op) {
  return {op.key, op.shard == kAnyShard ? ShardIndex{0} : op.shard};
}

constexpr const char* kNoWords = "the counter's kind does not understand this change";
constexpr const char* kNoRoomInKind =
    "the counter's kind has no room for this: a size, an amount or a sum of amounts is too large";
constexpr const char* kClosing = "this node is closing: another owner takes the change";
constexpr const char* kNoRoom = "too many of the shard's owners have full disks";
constexpr const char* kUnconfirmedCount =
    "no majority of the owners has confirmed the new shard count";
// Raises of new counters at a time. The rest of the room is for what clients ask.
constexpr std::size_t kMostSpreads = 64;
constexpr const char* kSpreadEnds =
    "a counter that is spread over shards has no end: use a counter with one shard";
constexpr const char* kSpreadDecides =
    "a counter that is spread over shards cannot be changed on a condition";
constexpr const char* kNobodyDecides =
    "no owner of the counter is reachable, and only an owner can decide";
constexpr const char* kEdge = "an edge node executes nothing: ask an owner";

// Why an add cannot have happened when it says.
std::string impossible_moment(const NamespacePolicy& policy) {
  if (policy.tiers.empty()) return "an add says when it happened only in a namespace with tiers";
  if (!policy.late)
    return "its namespace does not say how long ago an add may have happened: set its `late`";
  return "an add may have happened up to " + std::to_string(policy.late->count()) +
         " ms ago, as `late` of its namespace says, and not in the future";
}

bool tokened(const Op& op) { return op.token.store != StoreId{}; }

// A coordinator, here or at another member, has chosen a shard that adds may use. The number of
// these never shrinks, so the executor need not know all of them yet.
bool shard_is_chosen(const Op& op) { return op.affinity != Affinity{} && op.shard != kAnyShard; }

// A plain op, as nearly all are, has no field that influences its route.
bool is_plain(const Op& op) {
  return op.token == Token{} && op.affinity == Affinity{} && op.ack != Ack::quorum &&
         op.ttl_ms == 0 && op.at_ms == 0 && !op.key.empty() && op.key.size() <= kMaxKey;
}
bool is_plain_add(const Op& op) {
  return op.kind == OpKind::add && op.shard == kAnyShard && is_plain(op);
}
// The same for a counter of a kind that any owner changes.
bool is_plain_apply(const Op& op) {
  return op.kind == OpKind::apply && is_plain(op) && objection(op) == nullptr &&
         !changes_at_home(op.shard);
}

}  // namespace

const char* objection(const Op& op) {
  if (op.kind == OpKind::open_session)
    return op.key.size() > kMaxKey ? "a key has 1 to 512 bytes" : nullptr;
  if (op.key.empty() || op.key.size() > kMaxKey) return "a key has 1 to 512 bytes";
  if (op.kind == OpKind::raise && (op.amount < 1 || op.amount > kMaxShards))
    return "a counter has 1 to 1024 shards";
  if (op.affinity != Affinity{} && op.kind != OpKind::add) return "only an add has an affinity";
  const bool adds = op.kind == OpKind::add || op.kind == OpKind::apply;
  if (op.ttl_ms != 0 && !adds) return "only an add has a time to live";
  if (op.ttl_ms > static_cast<std::uint64_t>(kMaxTtl.count())) return kImpossibleTtl;
  if (op.at_ms != 0 && !adds && op.kind != OpKind::reset)
    return "only an add says when it happened, and only windows are reset by time";
  if (op.at_ms != 0 && op.kind == OpKind::reset && op.ack == Ack::quorum)
    return "windows are reset at memory or disk";
  if (op.at_ms < 0 || op.at_ms > kLatestWall.time_since_epoch().count())
    return "an add happened between 1970 and the year 2109";
  if (op.kind == OpKind::expire) {
    if (op.amount < 0 || op.amount > kLatestDate.time_since_epoch().count())
      return "a counter ends between 1970 and the year 6429";
    if (op.shard != kAnyShard && index_of(op.shard) != 0)
      return "a counter ends as a whole: name no shard";
  }
  const bool has_words = op.kind == OpKind::decide || op.kind == OpKind::apply;
  if (op.words.empty() == has_words || op.words.size() > kMaxDecisionWords)
    return "a decision and a change of bodies have words, of at most 256 KiB, and no other op has "
           "any";
  if (op.shard != kAnyShard && !is_sum(op.shard) && index_of(op.shard) != 0)
    return "only a sum is spread over shards";
  if ((op.kind == OpKind::apply) != (op.shard != kAnyShard && !is_sum(op.shard)) &&
      op.kind != OpKind::reset && op.kind != OpKind::expire)
    return "a change of bodies names the shard of a kind beside the sum, and so does no other "
           "change";
  if (op.kind == OpKind::raise) return nullptr;
  if (!tokened(op)) return nullptr;
  if (op.shard == kAnyShard) return "a token names one shard: send its index";
  if (op.token.serial == Serial{} || op.token.number == 0)
    return "a token needs a serial and a number from 1";
  return nullptr;
}

bool Coordinator::full(std::size_t more) const {
  const std::size_t pending =
      parts_.waits.size() + parts_.collector.size() + parts_.forwarder.size() + size();
  return pending + more > parts_.settings.pending_operations;
}

Placement Coordinator::place(const Op& op) const {
  return parts_.executor.map().place(shard_of(op));
}

void Coordinator::refuse(const Origin& origin, Code code, std::string detail) {
  // A new counter that cannot be spread yet is no refusal of anything that a client asked.
  if (origin.kind != Origin::Kind::operation || !started_spreads_.contains(origin.who))
    ++counts_.refused;
  parts_.out.answer(origin, {0, code, std::move(detail)});
}

void Coordinator::on_ops(Instant now, Origin::Kind kind, std::uint64_t who,
                         std::span<const Op> ops) {
  QUIPU_CHECK(kind != Origin::Kind::operation, "ops come from clients and members", who);
  const bool of_clients = kind == Origin::Kind::client;
  const auto for_each = [&](auto visit) {
    parts_.executor.map().for_each_fetched(
        ops.size(), [&](std::size_t i) { return shard_of(ops[i]); }, visit);
  };
  if (of_clients && parts_.executor.namespaces().matter()) {
    for_each([&](std::size_t i, const Placement& placement) {
      on_op_by_namespace(now, ops[i], placement, {kind, who, ops[i].id, {now}});
    });
    return;
  }
  Origin plain{kind, who};
  for_each([&](std::size_t i, const Placement& placement) {
    const Op& op = ops[i];
    plain.id = op.id;
    if (of_clients && is_plain_add(op) && add_here(op, placement, plain)) return;
    if (of_clients && is_plain_apply(op) && apply_here(op, placement, plain)) return;
    const Origin origin{kind, who, op.id, {now, operation_of(op)}};
    const Instant deadline = parts_.settings.deadline(now, op.timeout_ms);
    route(now, {op, placement, origin, deadline});
  });
}

// While some namespace has a policy that matters to ops. (An earlier copy of an add with a token
// may have been applied. Its executor knows that, and refuses it in take().)
void Coordinator::on_op_by_namespace(Instant now, Op op, const Placement& placement,
                                     Origin origin) {
  const NamespaceTable& namespaces = parts_.executor.namespaces();
  const bool adds = op.kind == OpKind::add || op.kind == OpKind::apply;
  const bool forbidden =
      adds && !tokened(op) && objection(op) == nullptr && namespaces.forbids(op.key);
  if (op.ack == Ack::by_default) op.ack = namespaces.policy_of(op.key).ack.value_or(Ack::disk);
  origin.asked.operation = operation_of(op);
  if (forbidden) return refuse(origin, Code::undefined_namespace, undefined_namespace(op.key));
  route(now, {op, placement, origin, parts_.settings.deadline(now, op.timeout_ms)});
}

// Executes a plain add of a client, if no other node is needed and no shard must be chosen. If
// it returns false, nothing has happened. route() has the same result in a longer way.
bool Coordinator::add_here(const Op& op, const Placement& placement, const Origin& origin) {
  const ShardMap& map = parts_.executor.map();
  const ShardRef shard{op.key, 0};
  if (storage_full_ || !parts_.view.answers_for(placement.partition()) ||
      !map.resident(placement, shard) || map.usable(placement, shard) != 1)
    return false;
  const Applied applied = parts_.executor.add(shard, op.amount, placement);
  if (applied.code != Code::ok) return false;
  ++counts_.plain_adds[static_cast<std::size_t>(op.ack)];
  parts_.out.answer(origin, 1, applied.total, op.ack == Ack::memory ? Commit{} : applied.commit);
  return true;
}

// The same for a plain apply. If it is refused, route() finds that anew, and says why.
bool Coordinator::apply_here(const Op& op, const Placement& placement, const Origin& origin) {
  if (storage_full_ || !parts_.view.answers_for(placement.partition()) ||
      !parts_.executor.map().eviction().all_resident())
    return false;
  Done done;
  const Applied applied = parts_.executor.apply(
      {.kind = op.kind, .ref = shard_of(op), .words = op.words, .reply = &done.detail}, placement);
  if (applied.code != Code::ok) return false;
  ++counts_.plain_adds[static_cast<std::size_t>(op.ack)];
  done.usable = applied.usable;
  parts_.out.answer(origin, std::move(done), op.ack == Ack::memory ? Commit{} : applied.commit);
  return true;
}

void Coordinator::route(Instant now, Job job) {
  if (job.op.ack == Ack::by_default) job.op.ack = Ack::disk;
  if (const char* why = objection(job.op)) {
    refuse(job.origin, Code::invalid_argument, why);
    return;
  }
  if (shard_is_chosen(job.op) && job.origin.kind != Origin::Kind::member) {
    refuse(job.origin, Code::invalid_argument,
           "an affinity chooses the shard: name none beside it");
    return;
  }
  switch (job.op.kind) {
    case OpKind::open_session:
      open_session(job);
      break;
    case OpKind::raise:
      start_raise(job);
      break;
    case OpKind::decide:
      job.op.shard = 0;
      tokened(job.op) ? route_by_token(now, job) : route_by_owner(now, job);
      break;
    case OpKind::expire:
      if (job.op.shard == kAnyShard) job.op.shard = 0;
      [[fallthrough]];
    case OpKind::apply:
    case OpKind::add:
    case OpKind::reset:
      tokened(job.op) ? route_by_token(now, job) : route_by_owner(now, job);
      break;
  }
}

void Coordinator::reroute(Instant now, const OwnedOp& op, const Origin& origin, Instant deadline) {
  route_by_owner(now, job_of(op.borrow(), origin, deadline));
}

void Coordinator::on_storage_full(bool full) {
  storage_full_ = full;
  if (full) parts_.out.refuse_sessions({0, Code::storage_full, text(Code::storage_full)});
}

// Without a store, but with a key: opens it at a live owner of the key that has room.
void Coordinator::open_session(const Job& job) {
  const auto& [op, placement, origin, deadline] = job;
  const StoreId own = parts_.executor.meta().store;
  const bool from_member = origin.kind == Origin::Kind::member;
  if (!from_member && !tokened(op) && !op.key.empty()) {
    const auto owner = parts_.view.owner_with_room(placement.partition());
    if (owner && *owner != parts_.view.self()) {
      Job there = job;
      there.op.token.store = parts_.view.pinned(*owner);
      return forward(there, *owner);
    }
  }
  if (is_left_to_others(origin)) return refuse(origin, Code::unavailable, kClosing);
  if (swamped_ && from_member) return refuse(origin, Code::overloaded, text(Code::overloaded));
  if (op.token.store == StoreId{} || op.token.store == own) {
    if (parts_.view.edge())
      return refuse(origin, tokened(op) ? Code::executor_gone : Code::unavailable, kEdge);
    // Its record would wait for room, and so would the answer.
    if (storage_full_) return refuse(origin, Code::storage_full, text(Code::storage_full));
    const Serial serial = parts_.executor.issue_session();
    QUIPU_CHECK(parts_.executor.has_open(), "a session that was issued is in the open record",
                serial);
    parts_.out.answer_session(origin, {0, Code::ok, {}, 0, own, serial},
                              parts_.executor.covering());
  } else if (const auto member = other_holder(op.token.store); !member || from_member) {
    refuse(origin, Code::executor_gone, "no member holds that store");
  } else if (!parts_.view.up(*member)) {
    refuse(origin, Code::unavailable, "the member that holds that store is down");
  } else {
    forward(job, *member);
  }
}

// A store that took the place of another may not have told its peers yet. Until then its own
// pins name the store before, which is gone.
std::optional<MemberIndex> Coordinator::other_holder(StoreId store) const {
  const auto member = parts_.view.holder(store);
  return member == parts_.view.self() ? std::nullopt : member;
}

// Another member's copy of a request is never forwarded again: its sender chose this node.
void Coordinator::route_by_token(Instant now, const Job& job) {
  if (job.op.token.store == parts_.executor.meta().store) {
    if (parts_.view.edge()) return refuse(job.origin, Code::executor_gone, kEdge);
    execute(now, job);
    return;
  }
  const auto member = other_holder(job.op.token.store);
  if (!member || job.origin.kind == Origin::Kind::member) {
    refuse(job.origin, Code::executor_gone, "no member holds the store that this token names");
    return;
  }
  forward(job, *member);
}

void Coordinator::forward(const Job& job, MemberIndex executor) {
  if (full() || (!job.op.words.empty() && parts_.forwarder.full_of_words())) {
    refuse(job.origin, Code::overloaded, text(Code::overloaded));
    return;
  }
  QUIPU_CHECK(executor != parts_.view.self() && job.origin.kind != Origin::Kind::member,
              "another member's copy of a request never travels on", job.op.key, executor);
  ++counts_.forwarded;
  parts_.forwarder.forward(job.op, executor, job.origin, job.deadline);
}

void Coordinator::route_by_owner(Instant now, Job job) {
  const Origin& origin = job.origin;
  Op& op = job.op;
  if (op.shard == kAnyShard && op.kind == OpKind::reset) {
    if (storage_full_) return refuse(origin, Code::storage_full, text(Code::storage_full));
    if (full()) return refuse(origin, Code::overloaded, text(Code::overloaded));
    const auto mode = op.ack == Ack::quorum ? Collector::Mode::majority : Collector::Mode::one;
    return collect(now, mode, 0, job, &Coordinator::reset_each_shard);
  }
  if (op.shard == kAnyShard) {
    if (!parts_.executor.map().resident(job.placement, {op.key, 0}))
      return park(job, {{{std::string(op.key), 0}}, {}, 0});
    const auto shard = choice_.choose(now, op, job.placement);
    if (!shard) {
      if (full()) return refuse(origin, Code::overloaded, text(Code::overloaded));
      return parts_.reads.ask_usable(now, op.key, job.deadline,
                                     then(job, &Coordinator::choose_as_told));
    }
    op.shard = *shard;
    if (op.shard != 0) job.placement = place(op);
  }
  const Partition partition = job.placement.partition();
  if (const auto keys = keys_of(op); keys.size() > 1) return route_together(now, job, keys);
  const auto owner = executors_.of({op.key, op.shard}, partition);
  if (owner && *owner != parts_.view.self() && origin.kind != Origin::Kind::member) {
    if (changes_at_home(op.shard)) executors_.note_home(parts_.executor.map().place({op.key, 0}));
    forward(job, *owner);
  } else if (parts_.view.edge()) {
    const bool full = !owner && parts_.view.live_owner(partition);
    refuse(origin, full ? Code::storage_full : Code::unavailable, full ? kNoRoom : kEdge);
  } else {
    execute(now, job);
  }
}

bool Coordinator::decides(std::string_view first, std::span<const std::string_view> keys) const {
  const ShardMap& map = parts_.executor.map();
  if (storage_full_ || executors_.of_several(first, keys) != parts_.view.self()) return false;
  return std::ranges::all_of(keys, [&](std::string_view key) {
    const ShardRef shard{key, 0};
    const Placement placement = map.place(shard);
    if (!map.resident(placement, shard)) return false;
    const Entry* const entry = map.find(placement, shard);
    return entry == nullptr || !entry->is_spread();
  });
}

void Coordinator::route_together(Instant now, const Job& job,
                                 const std::vector<std::string_view>& keys) {
  const View& view = parts_.view;
  if (job.origin.kind == Origin::Kind::member) return execute(now, job);
  const auto decider = executors_.of_several(job.op.key, keys);
  if (!decider) return refuse(job.origin, Code::invalid_argument, std::string(kDecidedApart));
  *decider == view.self() ? execute(now, job) : forward(job, *decider);
}

// This node is the executor. A reset of a shard that adds may not use yet does no harm, and
// a raise that stopped half-way must not prevent a reset of the counter.
void Coordinator::execute(Instant now, const Job& job) {
  QUIPU_CHECK(job.op.shard != kAnyShard, "an op is executed once its shard was chosen", job.op.key);
  const Op& op = job.op;
  if (storage_full_) return apply(job);  // without a quorum check before a refusal
  if (op.kind == OpKind::add && op.shard > 0 && !shard_is_chosen(op))
    return add_if_usable(now, job);
  const bool observes = op.kind == OpKind::reset || op.kind == OpKind::decide;
  if (observes && op.ack == Ack::quorum) return observe(now, job);
  apply(job);
}

void Coordinator::add_if_usable(Instant now, const Job& job) {
  const Op& op = job.op;
  if (const auto usable = parts_.reads.usable(now, op.key))
    return apply(job, op.shard < *usable ? Code::ok : Code::invalid_argument);
  if (full()) return apply(job, Code::overloaded);
  collect(now, Collector::Mode::one, 0, job, &Coordinator::add_as_told);
}

void Coordinator::observe(Instant now, const Job& job) {
  if (full()) return apply(job, Code::overloaded);
  std::vector<ShardKey> shards{{std::string(job.op.key), job.op.shard}};
  for (const std::string_view key : keys_of(job.op))
    if (key != job.op.key) shards.push_back({std::string(key), 0});
  parts_.collector.collect(now, Collector::Mode::majority, std::move(shards), job.deadline,
                           then(job, &Coordinator::go_on_as_observed));
}

Code Coordinator::reason_to_refuse(const Op& op, const Collector::Finished& first_shard) {
  QUIPU_CHECK(first_shard.shards.size() == 1 && first_shard.missing.size() == 1,
              "a question about one shard has one answer", op.key, first_shard.shards.size());
  if (first_shard.missing[0]) return Code::unavailable;
  return op.shard < first_shard.states[0].usable_shards ? Code::ok : Code::invalid_argument;
}

Code Coordinator::reason_to_refuse(const Job& job) const {
  if (storage_full_) return Code::storage_full;
  if (job.op.ack != Ack::quorum) return Code::ok;
  if (!parts_.view.majority_up(job.placement.partition())) return Code::no_quorum;
  if (!parts_.view.majority_has_room(job.placement.partition())) return Code::storage_full;
  return full(1 + others_of(job.op).size()) ? Code::overloaded : Code::ok;
}

// `refuse` also checks the token table: a retry of an applied change is answered.
void Coordinator::apply(const Job& job, Code refuse) {
  if (refuse == Code::ok) refuse = reason_to_refuse(job);
  if (refuse == Code::ok && swamped_ && job.origin.kind == Origin::Kind::member)
    refuse = Code::overloaded;
  if (refuse == Code::ok && is_left_to_others(job.origin)) refuse = Code::unavailable;
  take(job, refuse);
}

// A session that is not answered yet would be used too late.
void Coordinator::begin_closing() {
  closing_ = true;
  parts_.out.refuse_sessions({0, Code::unavailable, kClosing});
}

bool Coordinator::is_left_to_others(const Origin& origin) const {
  return closing_ && origin.kind == Origin::Kind::member &&
         std::ranges::find(parts_.settings.same_clock, origin.who) ==
             parts_.settings.same_clock.end();
}

// A refused op waits for nothing. If another store has replaced this one meanwhile, the op
// would count nowhere.
void Coordinator::take(const Job& job, Code refuse) {
  const Op& op = job.op;
  if (parts_.view.retired()) {
    return this->refuse(job.origin, tokened(op) ? Code::executor_gone : Code::unavailable,
                        "another store was pinned in this one's place");
  }
  const ShardRef shard{op.key, op.shard};
  if (refuse == Code::ok && !parts_.executor.map().eviction().all_resident()) {
    if (Needs needs = missing(job); !needs.shards.empty()) return park(job, std::move(needs));
  }
  QUIPU_CHECK(op.shard != kAnyShard, "a shard is chosen by now", op.key, op.shard);
  if (op.kind == OpKind::decide) return decide(job, refuse);
  QUIPU_CHECK(!parts_.view.edge(), "an edge node executes nothing", op.key, op.kind);
  const bool creates =
      refuse == Code::ok && op.kind == OpKind::add && would_create(shard, job.placement);
  const NamespaceTable& namespaces = parts_.executor.namespaces();
  const bool adds = op.kind == OpKind::add || op.kind == OpKind::apply;
  const bool forbidden = namespaces.by_operation() && refuse == Code::ok && adds && tokened(op) &&
                         namespaces.forbids(op.key);
  if (forbidden) refuse = Code::undefined_namespace;
  std::string reply;
  Units rests_on;
  Change change{.kind = op.kind,
                .ref = shard,
                .amount = op.amount,
                .words = op.words,
                .reply = &reply,
                .rests_on = op.ack == Ack::quorum ? &rests_on : nullptr,
                .token = op.token,
                .refuse = refuse,
                .refuse_for_good = forbidden};
  change.ttl = Wall::duration(static_cast<std::int64_t>(op.ttl_ms));
  change.at = Wall{Wall::duration(op.at_ms)};
  if (adds) change.usual_ttl = namespaces.usual_ttl(op.key);
  const Applied applied = parts_.executor.apply(change, job.placement);
  if (refuse == Code::ok && applied.code == Code::unavailable)
    return this->refuse(job.origin, Code::unavailable, parts_.clock.doubt());
  conclude(job, applied, std::move(reply), rests_on);
  if (creates && applied.code == Code::ok && op.ttl_ms == 0) spread(op.key);
}

// A decision is sent once. So an earlier start of this store cannot have carried this one out.
void Coordinator::decide(const Job& job, Code refuse) {
  const Op& op = job.op;
  std::vector<std::string_view> keys = keys_of(op);
  const bool several = !keys.empty();  // commands, perhaps about one counter
  if (!several) keys = {op.key};
  std::vector<Decision> on;
  on.reserve(keys.size());
  for (const std::string_view key : keys) {
    on.emplace_back(parts_.executor, parts_.clock, key,
                    several ? parts_.executor.map().place({key, 0}) : job.placement);
  }
  const char* why = nullptr;
  std::vector<std::string_view> created;
  for (const Decision& one : on) {
    const ShardRef shard{one.key(), 0};
    if (decider_ == nullptr || !parts_.view.answers_for(one.placement().partition())) {
      refuse = Code::unavailable;
      why = kNobodyDecides;
      break;
    }
    if (refuse != Code::ok) break;  // then it may not be in memory
    const Entry* const entry = parts_.executor.map().find(one.placement(), shard);
    if (entry != nullptr && entry->is_spread()) {
      refuse = Code::invalid_argument;
      why = kSpreadDecides;
    } else if (would_create(shard, one.placement())) {
      created.push_back(one.key());
    }
  }
  std::string reply;
  Applied applied;
  const auto print = static_cast<std::uint32_t>(hash64(HashKey{}, op.words));
  const auto carry_out = [&] {
    applied = parts_.executor.once(op.token, print, job.placement.partition(), refuse, [&] {
      Decisions decisions(on, parts_.executor);
      reply = decider_->decide(op.words, decisions);
    });
  };
  several ? parts_.executor.together(carry_out) : carry_out();
  QUIPU_CHECK(reply.size() <= kMaxDecisionReply, "a reply fits a frame", reply.size());
  if (why != nullptr && applied.code == refuse) return this->refuse(job.origin, refuse, why);
  if (applied.code == Code::in_doubt)
    return this->refuse(job.origin, Code::unavailable, text(Code::in_doubt));
  if (applied.code == Code::ok && reply.empty())
    return this->refuse(job.origin, Code::in_doubt, "another copy of it was carried out");
  conclude(job, applied, std::move(reply));
  for (const std::string_view key : created) {
    const ShardRef shard{key, 0};
    const Entry* const made = parts_.executor.map().find(parts_.executor.map().place(shard), shard);
    if (made != nullptr && !made->is_dated()) spread(key);
  }
}

// An add would create the counter in a namespace whose new counters are spread. (Cheap while
// there is none.)
bool Coordinator::would_create(const ShardRef& shard, const Placement& placement) const {
  const ShardMap& map = parts_.executor.map();
  return parts_.executor.namespaces().by_creation() && shard.shard == 0 &&
         parts_.view.answers_for(placement.partition()) && map.resident(placement, shard) &&
         map.find(placement, shard) == nullptr;
}

// Raises it to the shards of its namespace, once the event has ended. This needs a majority of the
// owners, so it is tried again until one answers.
void Coordinator::spread(std::string_view key) {
  const ShardIndex shards = parts_.executor.namespaces().policy_of(key).shards.value_or(1);
  if (shards > 1 && spreads_.size() < parts_.settings.pending_operations)
    spreads_[next_operation_++] = {std::string(key), shards};
}

// Those whose owners have no majority, or whose raise failed, wait behind all others. Each call
// looks at a few: if a raise is refused at once, it would be a loop.
void Coordinator::start_spreads(Instant now) {
  for (std::size_t looks = std::min(spreads_.size(), kMostSpreads);
       looks > 0 && started_spreads_.size() < kMostSpreads; --looks) {
    auto first = spreads_.extract(spreads_.begin());
    Op raise;
    raise.kind = OpKind::raise;
    raise.key = first.mapped().key;
    raise.amount = first.mapped().shards;
    if (!parts_.view.majority_up(place(raise).partition())) {
      wait_behind_all(std::move(first));
      continue;
    }
    const auto started = started_spreads_.insert(std::move(first)).position;
    raise.key = started->second.key;
    start_raise(job_of(raise, {Origin::Kind::operation, started->first, 0},
                       parts_.settings.deadline(now, 0)));
  }
}

void Coordinator::on_spread(Instant now, std::uint64_t operation, Code code) {
  auto ended = started_spreads_.extract(operation);
  // It has got an end meanwhile, or its namespace another kind, so it is not spread.
  const bool given_up = code == Code::invalid_argument || code == Code::wrong_type;
  if (code == Code::ok || given_up) return start_spreads(now);
  wait_behind_all(std::move(ended));
}

void Coordinator::wait_behind_all(Spreads::node_type spread) {
  spread.key() = next_operation_++;
  spreads_.insert(std::move(spread));
}

void Coordinator::on_tick(Instant now) {
  start_spreads(now);
  answer_reached(now);
}

void Coordinator::answer_reached(Instant now) {
  std::erase_if(again_, [&](Again& one) {
    std::size_t have = 0;
    for (const MemberIndex owner : parts_.view.owners(one.partition)) {
      have += owner == parts_.view.self() || parts_.replicator.reached(owner, one.commit) ? 1 : 0;
    }
    if (have < parts_.view.majority() && now < one.deadline) return false;
    if (have < parts_.view.majority())
      one.done = {0, Code::in_doubt, "no majority of the shard's owners has it in time"};
    parts_.out.answer(one.origin, std::move(one.done), one.commit);
    return true;
  });
}

// What has to be read from the store before this change can be made: of the shards that it may
// change, those that are not in memory.
Needs Coordinator::missing(const Job& job) const {
  const ShardMap& map = parts_.executor.map();
  const ShardRef shard{job.op.key, job.op.shard};
  Needs needs;
  if (!map.resident(job.placement, shard))
    needs.shards.push_back({std::string(shard.key), shard.shard});
  std::vector<ShardKey> others = others_of(job.op);
  // A change looks whether the key has a counter of another kind.
  for (ShardKey& other : map.under_other_kinds(shard, job.placement))
    others.push_back(std::move(other));
  for (const std::string_view key : keys_of(job.op)) {
    for (ShardKey& other : map.under_other_kinds({key, 0}, map.place({key, 0})))
      others.push_back(std::move(other));
  }
  for (ShardKey& other : others) {
    if (!map.resident(map.place(other), other)) needs.shards.push_back(std::move(other));
  }
  return needs;
}

bool Coordinator::has_windows(const Op& op, std::string_view key) const {
  const bool some = op.kind == OpKind::add || op.kind == OpKind::apply ||
                    op.kind == OpKind::decide || op.at_ms != 0;
  const NamespaceTable& namespaces = parts_.executor.namespaces();
  return some && namespaces.by_tiers() && !namespaces.policy_of(key).tiers.empty();
}

// The counters that a decision is about. None: its key alone.
std::vector<std::string_view> Coordinator::keys_of(const Op& op) const {
  if (op.kind != OpKind::decide || decider_ == nullptr) return {};
  return decider_->keys(op.words);
}

// The shards that it may change, besides its own: slices, those of the other counters, and windows.
std::vector<ShardKey> Coordinator::others_of(const Op& op) const {
  std::vector<ShardKey> others;
  const auto add_slices = [&](const ShardRef& first, std::string_view words) {
    for (ShardKey& slice : parts_.executor.slices(first, words)) others.push_back(std::move(slice));
  };
  const auto add_windows = [&](const ShardRef& shard) {
    if (!has_windows(op, shard.key)) return;
    for (ShardKey& window : parts_.executor.windows(shard, Wall{Wall::duration(op.at_ms)})) {
      add_slices(window, op.words);
      others.push_back(std::move(window));
    }
  };
  add_slices(shard_of(op), op.words);
  add_windows(shard_of(op));
  for (const std::string_view key : keys_of(op)) {
    if (key == op.key) continue;
    others.push_back({std::string(key), 0});
    add_windows({key, 0});
  }
  // A decision may end the counters of all kinds that a key has.
  if (op.kind == OpKind::decide) {
    const ShardMap& map = parts_.executor.map();
    std::vector<std::string_view> keys = keys_of(op);
    if (keys.empty()) keys.push_back(op.key);
    for (const std::string_view key : keys) {
      for (ShardKey& first : map.under_other_kinds({key, 0}, map.place({key, 0}))) {
        const Placement place = map.place(first);
        if (map.resident(place, first) && map.find(place, first) == nullptr) continue;
        add_slices(first, {});
        others.push_back(std::move(first));
      }
    }
  }
  return others;
}

// Until these are in memory.
void Coordinator::park(const Job& job, Needs needs) {
  const auto kept = std::make_shared<OwnedOp>(job.op);
  needs.bytes = kept->key().size() + job.op.words.size() + sizeof job;
  for (const ShardKey& shard : needs.shards) needs.bytes += shard.key.size() + sizeof shard;
  parts_.residency.hold(std::move(needs), Residency::Turn::first, std::nullopt,
                        [this, kept, job](Instant now) {
                          Job again = job;
                          again.op = kept->borrow();
                          go_on(now, again);
                        });
}

// It was admitted when it was parked, so there is room for it. Other conditions may have changed.
void Coordinator::go_on(Instant now, Job job) {
  if (job.op.shard == kAnyShard) {
    route_by_owner(now, job);
  } else {
    take(job, reason_to_refuse(job));
  }
}

void Coordinator::conclude(const Job& job, const Applied& applied, std::string reply,
                           const Units& rests_on) {
  QUIPU_CHECK(applied.commit <= next(parts_.executor.sealed()),
              "no answer waits for a record behind the open one", applied.commit,
              parts_.executor.sealed());
  if (applied.code != Code::ok) {
    ++counts_.refused;
    const bool owners_full = applied.code == Code::storage_full && !storage_full_;
    std::string why = owners_full ? kNoRoom : text(applied.code);
    if (applied.code == Code::unavailable && is_left_to_others(job.origin)) why = kClosing;
    if (applied.code == Code::undefined_namespace) why = undefined_namespace(job.op.key);
    if (applied.code == Code::wrong_type)
      why = why_wrong_type(parts_.executor, shard_of(job.op), job.placement);
    if (job.op.kind == OpKind::apply && applied.code == Code::invalid_argument) why = kNoWords;
    if (job.op.kind == OpKind::apply && applied.code == Code::out_of_range) why = kNoRoomInKind;
    if (job.op.kind == OpKind::expire && applied.code == Code::invalid_argument) why = kSpreadEnds;
    if (job.op.at_ms != 0 && applied.code == Code::invalid_argument)
      why = impossible_moment(parts_.executor.namespaces().policy_of(job.op.key));
    parts_.out.answer(job.origin, {0, applied.code, std::move(why)}, applied.commit);
    return;
  }
  const bool adds = job.op.kind == OpKind::add || job.op.kind == OpKind::apply;
  ++(adds                            ? counts_.adds_executed
     : job.op.kind == OpKind::reset  ? counts_.resets_executed
     : job.op.kind == OpKind::expire ? counts_.expiries_executed
                                     : counts_.decisions_executed);
  Done done;
  done.detail = std::move(reply);
  done.total = applied.total;
  done.usable = applied.usable;
  switch (job.op.ack) {
    case Ack::memory:
      parts_.out.answer(job.origin, std::move(done));
      break;
    case Ack::by_default:  // not here: route() has replaced it
    case Ack::disk:
      parts_.out.answer(job.origin, std::move(done), applied.commit);
      break;
    case Ack::quorum: {
      // New changes were refused for that before. A client may retry a change that was applied
      // long ago at any time.
      const std::size_t waits = 1 + others_of(job.op).size();
      if (parts_.waits.size() + again_.size() + waits > parts_.settings.pending_operations) {
        parts_.out.answer(job.origin, {0, Code::in_doubt,
                                       "applied, perhaps not durable yet: too many operations "
                                       "wait for a quorum"});
        break;
      }
      wait_for_majority(job, applied, rests_on, std::move(done));
      break;
    }
  }
}

void Coordinator::wait_for_majority(const Job& job, const Applied& applied, const Units& rests_on,
                                    Done done) {
  const Commit commit = applied.commit;
  const ShardRef shard = shard_of(job.op);
  const auto wait = [&](const ShardRef& one, const Placement& placement, const Origin& origin,
                        Done answer) {
    parts_.waits.wait({one, placement}, commit, origin, std::move(answer), job.deadline);
    // A change in an earlier record may have been acked before any operation waited for it. And a
    // change that found all as it wants it is in no record.
    if (job.op.kind != OpKind::add || commit <= parts_.executor.sealed())
      parts_.replicator.offer(one, rests_on.none() ? nullptr : &rests_on);
  };
  // A retry may not find what the first copy changed: its windows, or slices that are not in
  // memory.
  const bool in_slices = !is_sum(shard.shard) && rules_of(kind_of(shard.shard)).slices != nullptr;
  const bool with_others = has_windows(job.op, job.op.key) || in_slices;
  if (applied.again && job.op.at_ms == 0 && with_others) {
    again_.push_back(
        {job.origin, job.placement.partition(), commit, job.deadline, std::move(done)});
    return;
  }
  const std::vector<ShardKey> others = others_of(job.op);
  if (others.empty()) return wait(shard, job.placement, job.origin, std::move(done));
  const std::uint64_t number = next_operation_++;
  wholes_[number] = {job.origin, others.size() + 1, 0, done,
                     "not all that it changed is known to be with a majority"};
  for (const ShardKey& other : others)
    wait(other, parts_.executor.map().place(other), {Origin::Kind::operation, number, 0}, {});
  wait(shard, job.placement, {Origin::Kind::operation, number, 0}, {});
}

// ---- rounds, and the jobs that continue after them ----

Collector::Then Coordinator::then(const Job& job, Next next) {
  ++waiting_;
  return [this, next, kept = OwnedOp(job.op), placement = job.placement, origin = job.origin,
          deadline = job.deadline](Instant now, const Collector::Finished& finished) {
    QUIPU_CHECK(waiting_ > 0, "a job continues once", kept.key());
    --waiting_;
    (this->*next)(now, {kept.borrow(), placement, origin, deadline}, finished);
  };
}

void Coordinator::collect(Instant now, Collector::Mode mode, ShardIndex shard, const Job& job,
                          Next next) {
  parts_.collector.collect(now, mode, {{std::string(job.op.key), shard}}, job.deadline,
                           then(job, next));
}

// Writes that the counter has this many shards, and that adds may use `usable` of them.
void Coordinator::write_count(const Job& job, ShardIndex usable, Next next) {
  QUIPU_CHECK(usable >= 1 && usable <= job.op.amount && job.op.amount <= kMaxShards,
              "adds may use only shards that the counter has", job.op.key, usable, job.op.amount);
  const auto count = static_cast<ShardIndex>(job.op.amount);
  parts_.collector.write({{std::string(job.op.key), 0}}, {ShardState{{}, count, usable}},
                         job.deadline, then(job, next));
}

// As far as this node knows. If it is raised and gets a deadline at the same time, its first shard
// ends, and the others do not.
bool Coordinator::ends(const Job& job) const {
  const ShardMap& map = parts_.executor.map();
  const ShardRef first{job.op.key, 0};
  if (!map.resident(job.placement, first)) return false;
  const Entry* const entry = map.find(job.placement, first);
  return entry != nullptr && in_force(entry->life());
}

void Coordinator::start_raise(const Job& job) {
  QUIPU_CHECK(job.op.kind == OpKind::raise && !job.op.key.empty(),
              "only a raise changes how many shards a counter has", job.op.kind);
  if (full()) return refuse(job.origin, Code::overloaded, text(Code::overloaded));
  if (ends(job)) return refuse(job.origin, Code::invalid_argument, kSpreadEnds);
  // An add to one of its shards would not see that the counter is new.
  if (const auto fixed = parts_.executor.fixed_to_other({job.op.key, 0}))
    return refuse(job.origin, Code::wrong_type, fixed_to(job.op.key, *fixed));
  if (parts_.executor.other_kind({job.op.key, 0}, job.placement)) {
    return refuse(job.origin, Code::wrong_type,
                  why_wrong_type(parts_.executor, {job.op.key, 0}, job.placement));
  }
  const Partition partition = job.placement.partition();
  if (parts_.view.majority_up(partition) && !parts_.view.majority_has_room(partition))
    return refuse(job.origin, Code::storage_full, kNoRoom);
  write_count(job, 1, &Coordinator::raise_usable);
}

// Adds may use a shard only once no strong read can miss it.
void Coordinator::raise_usable(Instant, const Job& job, const Collector::Finished& counted) {
  if (counted.code != Code::ok) return refuse(job.origin, Code::in_doubt, kUnconfirmedCount);
  write_count(job, static_cast<ShardIndex>(job.op.amount), &Coordinator::end_raise);
}

void Coordinator::end_raise(Instant, const Job& job, const Collector::Finished& usable) {
  if (usable.code != Code::ok) return refuse(job.origin, Code::in_doubt, kUnconfirmedCount);
  parts_.out.answer(job.origin, {0, Code::ok, {}, static_cast<ShardIndex>(job.op.amount)});
}

void Coordinator::add_as_told(Instant, const Job& job, const Collector::Finished& first_shard) {
  apply(job, reason_to_refuse(job.op, first_shard));
}

void Coordinator::choose_as_told(Instant now, const Job& job,
                                 const Collector::Finished& first_shard) {
  if (now >= job.deadline) return refuse(job.origin, Code::unavailable, text(Code::unavailable));
  Job chosen = job;
  chosen.op.shard = choice_.choose_as_told(job.op, first_shard);
  chosen.placement = place(chosen.op);
  route_by_owner(now, chosen);
}

void Coordinator::go_on_as_observed(Instant, const Job& job, const Collector::Finished& observed) {
  QUIPU_CHECK(!observed.shards.empty() && observed.states.size() == observed.shards.size(),
              "a question about shards has an answer for each", job.op.key, observed.shards.size());
  // Only what a majority has may be kept: then another owner than its writer can detect that the
  // writer's disk went back.
  if (observed.code == Code::ok) {
    Delta states;
    for (std::size_t i = 0; i < observed.shards.size(); ++i)
      states.push(observed.shards[i], observed.states[i]);
    states.versions = observed.versions;
    parts_.executor.merge(states);
    // Even if the reset fails, this copy must get to the owners, and then be dropped.
    for (const ShardKey& shard : observed.shards) {
      if (!parts_.view.owned(parts_.executor.map().place(shard).partition()))
        parts_.replicator.offer(shard);
    }
  }
  apply(job, observed.code);
}

void Coordinator::reset_each_shard(Instant now, const Job& job,
                                   const Collector::Finished& first_shard) {
  QUIPU_CHECK(first_shard.states.size() == 1 && first_shard.states[0].shard_count >= 1,
              "a counter has a shard", job.op.key, first_shard.states.size());
  if (first_shard.code != Code::ok || first_shard.missing[0]) {
    const Code code = job.op.ack == Ack::quorum ? Code::no_quorum : Code::unavailable;
    refuse(job.origin, code, "the owners of the counter's first shard did not answer");
    return;
  }
  std::vector<ShardIndex> shards(first_shard.states[0].shard_count);
  std::iota(shards.begin(), shards.end(), ShardIndex{0});
  // The key may have a counter of another kind, which this node or another owner holds.
  for (const ShardKey& other :
       parts_.executor.map().under_other_kinds({job.op.key, 0}, job.placement))
    shards.push_back(other.shard);
  if (const auto& other = first_shard.others[0];
      other && std::ranges::find(shards, shard_of(other->kind)) == shards.end())
    shards.push_back(shard_of(other->kind));
  const std::uint64_t number = next_operation_++;
  wholes_[number] = {
      job.origin, shards.size(), 0, {}, "not all shards are known to have been reset"};
  for (const ShardIndex shard : shards) {
    Op op = job.op;
    op.shard = shard;
    route_by_owner(now, job_of(op, {Origin::Kind::operation, number, shard}, job.deadline));
  }
}

void Coordinator::on_outcome(Instant now, std::uint64_t operation, Done&& done) {
  if (started_spreads_.contains(operation)) return on_spread(now, operation, done.code);
  const auto at = wholes_.find(operation);
  if (at == wholes_.end()) return;
  Whole& whole = at->second;
  QUIPU_CHECK(whole.open > 0, "each part of an op answers once", operation, whole.applied);
  if (done.code == Code::ok) ++whole.applied;
  if (describe(done.code).outcome > describe(whole.worst.code).outcome)
    whole.worst = std::move(done);
  if (--whole.open > 0) return;
  if (whole.worst.code != Code::ok && whole.applied > 0) {
    whole.worst.code = Code::in_doubt;
    whole.worst.detail = whole.if_partly;
  }
  parts_.out.answer(whole.origin, std::move(whole.worst));
  wholes_.erase(at);
}

}  // namespace quipu
