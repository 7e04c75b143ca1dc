#include "node/local_calls.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/crossing.h"

namespace quipu {
namespace {

// The core's own deadlines come first, and know more: it looks at them every
// gossip interval.
constexpr Duration kGrace = std::chrono::milliseconds(250);

thread_local const void* running = nullptr;  // the node whose reactor this thread is

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

std::uint32_t on_wire(std::chrono::milliseconds timeout) {
  return static_cast<std::uint32_t>(clamp_timeout(timeout).count());
}

// The id of a call: how often its slot was used, and the slot.
std::size_t slot_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }

Op to_op(const CounterChange& change, std::uint64_t id) {
  Op op;
  op.id = id;
  op.kind = change.kind;
  op.key = change.key;
  op.amount = change.amount;
  op.ack = change.ack;
  op.timeout_ms = on_wire(change.timeout);
  op.affinity = change.affinity;
  return op;
}

}  // namespace

void LocalCalls::submit(CounterChange change, ChangeDone done) {
  const Instant deadline = NodeClock::now() + clamp_timeout(change.timeout);
  enqueue({std::move(change), std::move(done), deadline});
}

void LocalCalls::read(CounterQuestion question, ReadDone done) {
  const Instant deadline = NodeClock::now() + clamp_timeout(question.timeout);
  enqueue({std::move(question), std::move(done), deadline});
}

bool LocalCalls::on_own_thread() const { return running == node_; }

void LocalCalls::run_here(bool runs) { running = runs ? node_ : nullptr; }

Status LocalCalls::admit() const {
  if (!closed_.ok()) return closed_;
  if (paused_) return {Code::overloaded, "the disk is slower than what comes in"};
  if (in_flight_ >= kMaxLocalCalls) {
    return {Code::overloaded, std::to_string(kMaxLocalCalls) + " calls are waiting already"};
  }
  return {};
}

void LocalCalls::enqueue(Call call) {
  Status refused;
  {
    const std::lock_guard lock(mutex_);
    refused = admit();
    if (refused.ok()) {
      queued_.push_back(std::move(call));
      ++in_flight_;
      // Under the lock: after close() nothing may be posted any more.
      if (!std::exchange(woken_, true)) asio::post(io_, [this] { drain(); });
      return;
    }
  }
  std::visit([&refused](auto& done) { done(refused); }, call.done);
}

std::chrono::milliseconds LocalCalls::wait_for_room(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto may_go = [this] { return admit().code() != Code::overloaded; };
  if (may_go()) return timeout;
  const Instant began = NodeClock::now();
  room_.wait_for(lock, clamp_timeout(timeout), may_go);
  const auto waited = std::chrono::ceil<std::chrono::milliseconds>(NodeClock::now() - began);
  return std::max(timeout - waited, std::chrono::milliseconds(0));
}

void LocalCalls::close(Status why) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_.ok()) closed_ = std::move(why);
  }
  room_.notify_all();
}

void LocalCalls::set_paused(bool paused) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
  }
  if (!paused) room_.notify_all();
}

void LocalCalls::drain() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    woken_ = false;
    if (port_.core != nullptr) calls.swap(queued_);
  }
  if (port_.core == nullptr) return refuse_queued();
  std::vector<std::uint64_t> ids;
  ids.reserve(calls.size());
  for (Call& call : calls) ids.push_back(keep(std::move(call)));
  give(ids);
  port_.finish();
}

// Changes together, in their order; a read sees the changes that came before it.
// Nothing is kept meanwhile, so that the keys stay where they are.
void LocalCalls::give(std::span<const std::uint64_t> ids) {
  std::vector<Op> ops;
  const auto give_ops = [&] {
    if (!ops.empty()) port_.crossing->on_ops(NodeClock::now(), kClient, ops, nullptr);
    ops.clear();
  };
  for (const std::uint64_t id : ids) {
    const auto& what = slots_[slot_of(id)].call->what;
    if (const auto* change = std::get_if<CounterChange>(&what)) {
      ops.push_back(to_op(*change, id));
      continue;
    }
    give_ops();
    const auto& question = std::get<CounterQuestion>(what);
    port_.crossing->on_read(NodeClock::now(), kClient,
                            {id, question.level, on_wire(question.timeout), {question.key}});
  }
  give_ops();
}

std::uint64_t LocalCalls::keep(Call&& call) {
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t at = free_.back();
  free_.pop_back();
  slots_[at].call = std::move(call);
  ++waiting_;
  return std::uint64_t{++slots_[at].uses} << 32 | at;
}

LocalCalls::Call LocalCalls::take(std::size_t slot) {
  Call call = std::move(*slots_[slot].call);
  slots_[slot].call.reset();
  free_.push_back(slot);
  --waiting_;
  bool was_full = false;
  {
    const std::lock_guard lock(mutex_);
    was_full = in_flight_-- >= kMaxLocalCalls;
  }
  if (was_full) room_.notify_all();
  return call;
}

void LocalCalls::reply(const Answer& answer) {
  const std::uint64_t id = std::visit([](const auto& one) { return one.id; }, answer);
  const std::size_t slot = slot_of(id);
  // Else it was ended already: at its deadline, say.
  if (slot >= slots_.size() || !slots_[slot].call || slots_[slot].uses != id >> 32) return;
  finish(slot, answer);
}

void LocalCalls::finish(std::size_t slot, const Answer& answer) {
  const Call call = take(slot);
  if (const auto* done = std::get_if<ChangeDone>(&call.done)) {
    const auto* outcome = std::get_if<Done>(&answer);
    (*done)(outcome != nullptr ? Status(outcome->code, outcome->detail) : Status());
  } else {
    const auto* values = std::get_if<Values>(&answer);
    const bool has_value = values != nullptr && !values->values.empty();
    std::get<ReadDone>(call.done)(has_value ? to_reading(values->values.front())
                                            : Status(Code::in_doubt, "an answer without a value"));
  }
}

void LocalCalls::end(std::size_t slot, const Status& change, const Status& read) {
  const Call call = take(slot);
  std::visit(Overload{[&](const ChangeDone& done) { done(change); },
                      [&](const ReadDone& done) { done(read); }},
             call.done);
}

void LocalCalls::abandon(const Status& change, const Status& read) {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].call) end(slot, change, read);
  }
  refuse_queued();
}

void LocalCalls::refuse_queued() {
  std::vector<Call> calls;
  Status why{Code::unavailable, "the node takes a new identity"};
  {
    const std::lock_guard lock(mutex_);
    calls.swap(queued_);
    if (!closed_.ok()) why = closed_;
  }
  for (Call& call : calls) end(slot_of(keep(std::move(call))), why, why);
}

void LocalCalls::expire(Instant now) {
  const Status late{Code::in_doubt, "not durable in time"};
  const Status unanswered{Code::unavailable, "no answer in time"};
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto& call = slots_[slot].call;
    if (call && call->deadline + kGrace <= now) end(slot, late, unanswered);
  }
}

}  // namespace quipu
