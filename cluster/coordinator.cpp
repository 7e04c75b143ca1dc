#include "cluster/coordinator.h"

#include <algorithm>
#include <array>

namespace quipu {
namespace {

const char* text(Code code) {
  switch (code) {
    case Code::out_of_range:
      return "the counter's sum would leave the signed 64-bit range, or it has too many writers";
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

bool tokened(const Op& op) { return op.token.store != StoreId{}; }

}  // namespace

const char* objection(const Op& op) {
  if (op.kind == OpKind::open_session) return nullptr;
  if (op.key.empty() || op.key.size() > kMaxKey) return "a key has 1 to 512 bytes";
  if (op.shard != kAnyShard && op.shard >= kMaxShards) return "a counter has at most 1024 shards";
  if (op.kind == OpKind::raise && (op.amount < 1 || op.amount > kMaxShards))
    return "a counter has 1 to 1024 shards";
  if (op.kind == OpKind::raise) return nullptr;
  if (!tokened(op)) return nullptr;
  if (op.shard == kAnyShard) return "a token names one shard: send its index";
  if (op.token.serial == Serial{} || op.token.number == 0)
    return "a token needs a serial and a number from 1";
  return nullptr;
}

bool Coordinator::full() const {
  const std::size_t pending = parts_.waits.size() + parts_.collector.size() +
                              parts_.forwarder.size() + size() + jobs_.size();
  return pending >= parts_.settings.pending_operations;
}

// Of any shard, the first's.
Placement Coordinator::place(const Op& op) const {
  const ShardIndex shard = op.shard == kAnyShard ? ShardIndex{0} : op.shard;
  return parts_.executor.map().place({op.key, shard});
}

void Coordinator::refuse(const Origin& origin, Code code, std::string detail) {
  ++counts_.refused;
  parts_.out.answer(origin, {0, code, std::move(detail)});
}

// What routing and executing look at is fetched ahead, so that a batch waits for
// memory once, not once for each op.
void Coordinator::on_ops(Instant now, Origin::Kind kind, std::uint64_t who,
                         std::span<const Op> ops) {
  constexpr std::size_t kGroup = 16;
  const ShardMap& map = parts_.executor.map();
  for (std::size_t begin = 0; begin < ops.size(); begin += kGroup) {
    const std::span<const Op> group = ops.subspan(begin, std::min(kGroup, ops.size() - begin));
    std::array<Placement, kGroup> placements;
    for (std::size_t i = 0; i < group.size(); ++i) placements[i] = place(group[i]);
    map.prefetch(std::span(placements).first(group.size()));
    for (std::size_t i = 0; i < group.size(); ++i)
      route(now, group[i], placements[i], {kind, who, group[i].id});
  }
  run_queue();
  parts_.forwarder.flush(now);
}

void Coordinator::route(Instant now, const Op& op, const Placement& placement,
                        const Origin& origin) {
  if (const char* why = objection(op)) {
    refuse(origin, Code::invalid_argument, why);
    return;
  }
  const Instant deadline =
      now + (op.timeout_ms == 0 ? parts_.settings.request_timeout
                                : Duration(std::chrono::milliseconds(op.timeout_ms)));
  switch (op.kind) {
    case OpKind::open_session:
      open_session(op, origin, deadline);
      break;
    case OpKind::raise:
      start_raise(op, origin, deadline);
      break;
    case OpKind::add:
    case OpKind::reset:
      if (tokened(op)) {
        route_by_token(now, op, origin, deadline);
      } else {
        route_by_owner(now, op, placement, origin, deadline);
      }
      break;
  }
}

void Coordinator::reroute(Instant now, const Forwarder::Unsent& unsent) {
  Op op = unsent.op;
  op.key = unsent.key;
  route_by_owner(now, op, place(op), unsent.origin, unsent.deadline);
  run_queue();
  parts_.forwarder.flush(now);
}

void Coordinator::open_session(const Op& op, const Origin& origin, Instant deadline) {
  const StoreId own = parts_.executor.meta().store;
  if (swamped_ && origin.kind == Origin::Kind::member)
    return refuse(origin, Code::overloaded, text(Code::overloaded));
  if (op.token.store == StoreId{} || op.token.store == own) {
    const Serial serial = parts_.executor.issue_session();
    parts_.out.answer(origin, {0, Code::ok, {}, 0, own, serial}, parts_.executor.covering());
  } else if (const auto member = parts_.view.holder(op.token.store); !member) {
    refuse(origin, Code::executor_gone, "no member holds that store");
  } else if (!parts_.view.up(*member)) {
    refuse(origin, Code::unavailable, "the member that holds that store is down");
  } else {
    forward(op, *member, origin, deadline);
  }
}

// Another member's copy of a request never travels on: its sender chose us.
void Coordinator::route_by_token(Instant now, const Op& op, const Origin& origin,
                                 Instant deadline) {
  if (op.token.store == parts_.executor.meta().store) {
    execute(now, op, origin, deadline);
    return;
  }
  const auto member = parts_.view.holder(op.token.store);
  if (!member || origin.kind == Origin::Kind::member) {
    refuse(origin, Code::executor_gone, "no member holds the store that this token names");
    return;
  }
  forward(op, *member, origin, deadline);
}

void Coordinator::forward(const Op& op, MemberIndex executor, const Origin& origin,
                          Instant deadline) {
  if (full()) {
    refuse(origin, Code::overloaded, text(Code::overloaded));
    return;
  }
  ++counts_.forwarded;
  parts_.forwarder.forward(op, executor, origin, deadline);
}

void Coordinator::route_by_owner(Instant now, Op op, const Placement& placement,
                                 const Origin& origin, Instant deadline) {
  if (op.shard == kAnyShard && op.kind == OpKind::reset) {
    if (full()) return refuse(origin, Code::overloaded, text(Code::overloaded));
    const auto mode = op.ack == Ack::quorum ? Collector::Mode::majority : Collector::Mode::one;
    const RoundId round = parts_.collector.collect(now, mode, {{std::string(op.key), 0}}, deadline);
    wait_for(round, Step::count_for_reset, op, origin, deadline);
    return;
  }
  if (op.shard == kAnyShard) op.shard = choose_shard(op.key, placement);
  const Placement chosen = op.shard == 0 ? placement : place(op);
  const auto owner = parts_.view.live_owner(chosen.partition());
  if (owner && *owner != parts_.view.self() && origin.kind != Origin::Kind::member) {
    forward(op, *owner, origin, deadline);
  } else if (!owner && parts_.view.edge()) {
    refuse(origin, Code::unavailable, "an edge node executes nothing, and no owner is reachable");
  } else {
    execute(now, op, origin, deadline);
  }
}

// One that this node owns, if there is one, so that the add needs no hop.
ShardIndex Coordinator::choose_shard(std::string_view key, const Placement& first) {
  const ShardMap& map = parts_.executor.map();
  const ShardIndex usable = map.usable(first, {key, 0});
  if (usable == 1) return 0;
  const auto start = static_cast<ShardIndex>(random_.below(usable));
  for (ShardIndex i = 0; i < usable; ++i) {
    const auto shard = static_cast<ShardIndex>((start + i) % usable);
    if (parts_.view.owned(map.place({key, shard}).partition())) return shard;
  }
  return start;
}

// This node is the executor.
void Coordinator::execute(Instant now, const Op& op, const Origin& origin, Instant deadline) {
  // A reset of a shard that nobody may use yet does no harm, and a raise that stopped
  // half-way must not keep the counter from being reset.
  if (op.shard > 0 && op.kind == OpKind::add) {
    const auto usable = parts_.reads.usable(now, op.key);
    if (!usable) {
      if (full()) return enqueue(op, origin, deadline, Code::overloaded);
      const RoundId round =
          parts_.collector.collect(now, Collector::Mode::one, {{std::string(op.key), 0}}, deadline);
      wait_for(round, Step::learn_usable, op, origin, deadline);
      return;
    }
    if (op.shard >= *usable) {
      enqueue(op, origin, deadline, Code::invalid_argument);
      return;
    }
  }
  carry_out(now, op, origin, deadline);
}

// The shard may be used.
void Coordinator::carry_out(Instant now, const Op& op, const Origin& origin, Instant deadline) {
  if (op.kind == OpKind::reset && op.ack == Ack::quorum) {
    if (full()) return enqueue(op, origin, deadline, Code::overloaded);
    const RoundId round = parts_.collector.collect(now, Collector::Mode::majority,
                                                   {{std::string(op.key), op.shard}}, deadline);
    wait_for(round, Step::observe_reset, op, origin, deadline);
    return;
  }
  enqueue(op, origin, deadline);
}

Code Coordinator::reason_to_refuse(const Op& op, const Collector::Finished& first_shard) {
  if (first_shard.missing[0]) return Code::unavailable;
  return op.shard < first_shard.states[0].usable ? Code::ok : Code::invalid_argument;
}

Code Coordinator::reason_to_refuse(const Op& op, Partition in) const {
  if (storage_full_) return Code::storage_full;
  if (op.ack != Ack::quorum) return Code::ok;
  if (!parts_.view.majority_up(in)) return Code::no_quorum;
  return full() ? Code::overloaded : Code::ok;
}

// `refuse` goes by the token table too: a retry of what was applied is answered.
void Coordinator::enqueue(const Op& op, const Origin& origin, Instant deadline, Code refuse) {
  const bool checked = storage_full_ || op.ack == Ack::quorum;
  if (refuse == Code::ok && checked) refuse = reason_to_refuse(op, place(op).partition());
  if (refuse == Code::ok && swamped_ && origin.kind == Origin::Kind::member)
    refuse = Code::overloaded;
  changes_.push_back({op.kind, {op.key, op.shard}, op.amount, op.token, refuse});
  jobs_.push_back({origin, op, deadline});
}

void Coordinator::run_queue() {
  if (jobs_.empty()) return;
  applied_.resize(jobs_.size());
  parts_.executor.apply(changes_, applied_);
  for (std::size_t i = 0; i < jobs_.size(); ++i) conclude(jobs_[i], applied_[i]);
  jobs_.clear();
  changes_.clear();
}

void Coordinator::conclude(const Job& job, const Applied& applied) {
  if (applied.code != Code::ok) {
    ++counts_.refused;
    parts_.out.answer(job.origin, {0, applied.code, text(applied.code)}, applied.commit);
    return;
  }
  ++(job.op.kind == OpKind::add ? counts_.adds_executed : counts_.resets_executed);
  Done done;
  done.total = applied.total;
  done.usable = applied.usable;
  switch (job.op.ack) {
    case Ack::memory:
      parts_.out.answer(job.origin, std::move(done));
      break;
    case Ack::disk:
      parts_.out.answer(job.origin, std::move(done), applied.commit);
      break;
    case Ack::quorum: {
      // A new change was refused for that before; of what was applied long ago, a
      // client may ask as often as it likes.
      if (parts_.waits.size() >= parts_.settings.pending_operations) {
        parts_.out.answer(job.origin, {0, Code::in_doubt,
                                       "applied, perhaps not durable yet: too many operations "
                                       "wait for a quorum"});
        break;
      }
      ShardKey shard{std::string(job.op.key), job.op.shard};
      parts_.waits.wait(shard, place(job.op).partition(), applied.commit, job.origin,
                        std::move(done), job.deadline);
      // What an earlier record holds may have been acked before anybody waited, and
      // a reset that found nothing to clear is in none.
      if (job.op.kind == OpKind::reset || applied.commit <= parts_.executor.sealed())
        parts_.replicator.offer(shard);
      break;
    }
  }
}

void Coordinator::start_raise(const Op& op, const Origin& origin, Instant deadline) {
  if (full()) return refuse(origin, Code::overloaded, text(Code::overloaded));
  const auto count = static_cast<ShardIndex>(op.amount);
  const RoundId round =
      parts_.collector.write({{std::string(op.key), 0}}, {ShardState{{}, count, 1}}, deadline);
  wait_for(round, Step::raise_count, op, origin, deadline);
}

// Adds may use a shard only once no strong read can miss it.
void Coordinator::continue_raise(const Waiting& waiting, Code code) {
  if (code != Code::ok) {
    refuse(waiting.origin, Code::in_doubt,
           "no majority of the owners has confirmed the new shard count");
    return;
  }
  const auto count = static_cast<ShardIndex>(waiting.op.amount);
  if (waiting.step == Step::raise_usable) {
    // The owners that are not of that majority learn it as of any change made here.
    const ShardKey first{waiting.key, 0};
    Delta raised;
    raised.push(first, ShardState{{}, count, count});
    parts_.executor.merge(raised);
    parts_.replicator.offer(first);
    parts_.out.answer(waiting.origin, {0, Code::ok, {}, count});
    return;
  }
  const RoundId round =
      parts_.collector.write({{waiting.key, 0}}, {ShardState{{}, count, count}}, waiting.deadline);
  wait_for(round, Step::raise_usable, waiting.op, waiting.origin, waiting.deadline);
}

void Coordinator::wait_for(RoundId round, Step step, const Op& op, const Origin& origin,
                           Instant deadline) {
  Waiting& waiting = rounds_[round];
  waiting.step = step;
  waiting.key = op.key;
  waiting.op = op;
  waiting.op.key = waiting.key;
  waiting.origin = origin;
  waiting.deadline = deadline;
}

void Coordinator::on_finished(Instant now, const Collector::Finished& finished) {
  const auto at = rounds_.find(finished.round);
  if (at == rounds_.end()) return;
  const auto node = rounds_.extract(at);  // keeps the key that the op borrows in place
  const Waiting& waiting = node.mapped();
  switch (waiting.step) {
    case Step::raise_count:
    case Step::raise_usable:
      continue_raise(waiting, finished.code);
      return;
    case Step::learn_usable:
      if (const Code why = reason_to_refuse(waiting.op, finished); why != Code::ok) {
        enqueue(waiting.op, waiting.origin, waiting.deadline, why);
      } else {
        carry_out(now, waiting.op, waiting.origin, waiting.deadline);
      }
      break;
    case Step::count_for_reset:
      reset_whole(now, waiting, finished);
      break;
    case Step::observe_reset: {
      Delta observed;
      observed.push(finished.shards[0], finished.states[0]);
      observed.sightings = finished.sightings;
      parts_.executor.merge(observed);
      // Whatever becomes of the reset, this copy must find its way to the owners, and go.
      if (!parts_.view.owned(place(waiting.op).partition()))
        parts_.replicator.offer(finished.shards[0]);
      enqueue(waiting.op, waiting.origin, waiting.deadline, finished.code);
      break;
    }
  }
  run_queue();
  parts_.forwarder.flush(now);
}

void Coordinator::reset_whole(Instant now, const Waiting& waiting,
                              const Collector::Finished& finished) {
  if (finished.code != Code::ok || finished.missing[0]) {
    const Code code = waiting.op.ack == Ack::quorum ? Code::no_quorum : Code::unavailable;
    refuse(waiting.origin, code, "the owners of the counter's first shard did not answer");
    return;
  }
  const std::uint64_t number = next_reset_++;
  resets_[number] = {waiting.origin, finished.states[0].count, 0, {}};
  for (ShardIndex shard = 0; shard < finished.states[0].count; ++shard) {
    Op op = waiting.op;
    op.shard = shard;
    route_by_owner(now, op, place(op), {Origin::Kind::operation, number, shard}, waiting.deadline);
  }
}

void Coordinator::on_internal(Instant, Outbound::Internal internal) {
  const auto at = resets_.find(internal.operation);
  if (at == resets_.end()) return;
  WholeReset& reset = at->second;
  if (internal.done.code == Code::ok) ++reset.applied;
  if (describe(internal.done.code).outcome > describe(reset.worst.code).outcome)
    reset.worst = std::move(internal.done);
  if (--reset.open > 0) return;
  if (reset.worst.code != Code::ok && reset.applied > 0) {
    reset.worst.code = Code::in_doubt;
    reset.worst.detail = "not all shards are known to have been reset";
  }
  parts_.out.answer(reset.origin, std::move(reset.worst));
  resets_.erase(at);
}

}  // namespace quipu
