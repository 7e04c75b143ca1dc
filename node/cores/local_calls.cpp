#include "node/cores/local_calls.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "node/cores/core_router.h"
#include "protocol/check.h"
#include "protocol/item_words.h"
#include "protocol/shard_number.h"

namespace quipu {
namespace {

// The core's own deadlines come first, and give better answers. The core checks them every
// gossip interval.
constexpr Duration kGrace = std::chrono::milliseconds(250);

thread_local const void* running = nullptr;  // the node whose reactor this thread is

std::uint32_t on_wire(std::chrono::milliseconds timeout) {
  return static_cast<std::uint32_t>(clamp_timeout(timeout).count());
}

// The id of a call: how often its slot was used, and the slot.
std::size_t slot_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }

Instant deadline_of(const CounterCall& call, Instant now) {
  if (const auto* change = std::get_if<ChangeCall>(&call))
    return now + clamp_timeout(change->change.timeout);
  if (const auto* query = std::get_if<QueryCall>(&call))
    return now + clamp_timeout(query->question.timeout);
  if (const auto* range = std::get_if<RangeCall>(&call))
    return now + clamp_timeout(range->question.timeout);
  if (const auto* list = std::get_if<ListCall>(&call))
    return now + clamp_timeout(list->question.timeout);
  if (const auto* names = std::get_if<NamespaceCall>(&call))
    return now + clamp_timeout(names->question.timeout);
  if (const auto* status = std::get_if<StatusCall>(&call)) return status->deadline;
  return now + clamp_timeout(read_in(call).timeout);
}

void make_words(CounterChange& change, HashKey placement) {
  if (change.kind != OpKind::apply || !change.words.empty()) return;
  change.words = words_to_add(change.counter, placement, change.items);
  change.items = {};
}

Op to_op(const CounterChange& change, std::uint64_t id) {
  Op op;
  op.id = id;
  op.kind = change.kind;
  op.key = change.key;
  op.words = change.words;
  if (change.counter != Kind::sum) op.shard = shard_of(change.counter);
  op.amount = change.amount;
  op.ack = change.ack;
  op.timeout_ms = on_wire(change.timeout);
  op.affinity = change.affinity;
  op.ttl_ms = static_cast<std::uint64_t>(change.ttl.count());  // below 0: too large, so refused
  op.at_ms = change.at_ms;
  return op;
}

}  // namespace

bool LocalCalls::on_own_thread() const { return running == node_; }

void LocalCalls::run_here(bool runs) { running = runs ? node_ : nullptr; }

Status LocalCalls::admit(std::size_t calls) const {
  if (!closed_.ok()) return closed_;
  if (paused_) return {Code::overloaded, "the disk is slower than the incoming changes"};
  if (in_flight_ + calls > kMaxLocalCalls) {
    return {Code::overloaded, std::to_string(kMaxLocalCalls) + " calls are waiting already"};
  }
  return {};
}

void LocalCalls::begin(std::span<CounterCall> calls) {
  const Instant now = NodeClock::now();
  Status refused;
  std::size_t taken = 0;
  {
    const std::lock_guard lock(mutex_);
    for (; taken < calls.size(); ++taken) {
      refused = admit();
      if (!refused.ok()) break;
      const Instant deadline = deadline_of(calls[taken], now);
      queued_.emplace_back(std::move(calls[taken]), deadline);
      ++in_flight_;
    }
    // Under the lock: nothing may be posted after close().
    if (taken > 0 && !std::exchange(woken_, true)) asio::post(io_, [this] { drain(); });
  }
  for (const CounterCall& call : calls.subspan(taken)) refuse(call, refused, refused);
}

std::chrono::milliseconds LocalCalls::wait_for_room(std::chrono::milliseconds timeout,
                                                    std::size_t calls) {
  std::unique_lock lock(mutex_);
  const auto may_go = [this, calls] { return admit(calls).code() != Code::overloaded; };
  if (may_go()) return timeout;
  const Instant began = NodeClock::now();
  ++wanting_;
  room_.wait_for(lock, clamp_timeout(timeout), may_go);
  --wanting_;
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
  std::vector<Call> calls = std::move(spare_);
  {
    const std::lock_guard lock(mutex_);
    woken_ = false;
    if (port_.core() != nullptr) calls.swap(queued_);
  }
  if (port_.core() == nullptr) return refuse_queued();
  const CorePort::Event event(port_);
  std::vector<std::uint64_t> ids;
  ids.reserve(calls.size());
  for (Call& call : calls) ids.push_back(keep(std::move(call)));
  calls.clear();
  if (calls.capacity() <= kKeptCalls) spare_ = std::move(calls);
  give(ids);
}

// Consecutive changes together, in order. A question sees the changes before it. Nothing is
// queued meanwhile, so that the keys do not move.
void LocalCalls::give(std::span<const std::uint64_t> ids) {
  std::vector<Op> ops;
  const Instant now = NodeClock::now();
  const auto give_ops = [&] {
    if (!ops.empty()) port_.router().on_ops(NodeClock::now(), kClient, ops, nullptr);
    ops.clear();
  };
  for (const std::uint64_t id : ids) {
    CounterCall& call = slots_[slot_of(id)].call->call;
    if (auto* change = std::get_if<ChangeCall>(&call)) {
      make_words(change->change, port_.core()->executor().map().placement_key());
      ops.push_back(to_op(change->change, id));
      slots_[slot_of(id)].call->asked = {now, operation_of(ops.back())};
      continue;
    }
    give_ops();
    if (const WantedRead wanted = read_in(call); !wanted.keys.empty()) ask(id, wanted);
    if (const auto* query = std::get_if<QueryCall>(&call)) ask(id, query->question);
    if (const auto* range = std::get_if<RangeCall>(&call)) ask(id, range->question);
    if (const auto* list = std::get_if<ListCall>(&call)) ask(id, list->question);
    if (const auto* names = std::get_if<NamespaceCall>(&call)) ask(id, names->question);
    if (const auto* status = std::get_if<StatusCall>(&call)) ask_members(id, status->deadline);
  }
  give_ops();
}

void LocalCalls::ask(std::uint64_t id, const WantedRead& wanted) {
  read_.id = id;
  read_.level = wanted.level;
  read_.timeout_ms = on_wire(wanted.timeout);
  read_.keys.assign(wanted.keys.begin(), wanted.keys.end());
  port_.router().on_read(NodeClock::now(), kClient, read_);
}

void LocalCalls::ask(std::uint64_t id, const QueryQuestion& question) {
  const CorePort::Event event(port_);
  Query request = question.request(id, on_wire(question.timeout));
  std::string words;
  if (!question.items.empty()) {
    words = question_about(question.kind, port_.core()->executor().map().placement_key(),
                           question.items);
    request.words = words;
  }
  event->on_query(NodeClock::now(), kClient, request, event.effects());
}

void LocalCalls::ask(std::uint64_t id, const RangeQuestion& question) {
  const CorePort::Event event(port_);
  event->on_range(NodeClock::now(), kClient, question.request(id, on_wire(question.timeout)),
                  event.effects());
}

void LocalCalls::ask(std::uint64_t id, const ListQuestion& question) {
  const CorePort::Event event(port_);
  event->on_list(NodeClock::now(), kClient,
                 {.id = id,
                  .prefix = question.prefix,
                  .cursor = question.cursor,
                  .limit = question.limit,
                  .timeout_ms = on_wire(question.timeout)},
                 event.effects());
}

void LocalCalls::ask(std::uint64_t id, const NamespaceQuestion& question) {
  const CorePort::Event event(port_);
  event->on_namespaces(NodeClock::now(), kClient, question.request(id, on_wire(question.timeout)),
                       event.effects());
}

// This node's own members are known without a connection, even without a client port.
void LocalCalls::ask_members(std::uint64_t id, Instant deadline) {
  if (surveys_.size() >= kMaxStatusCalls) {
    const Status full(Code::overloaded, "too many questions for the status are under way");
    return end(slot_of(id), full, full);
  }
  ClusterSurvey::Question question{.config = port_.core()->config(id),
                                   .credentials = credentials_,
                                   .tls = tls_,
                                   .deadline = deadline};
  StatusReply own = port_.core()->status(NodeClock::now(), id);
  own.users = port_.router().own_published().status.users;
  question.known.push_back(std::move(own));
  for (Figures& other : port_.router().published())
    question.known.push_back(std::move(other.status));
  const auto done = [this, id](ClusterStatus status) {
    surveys_.erase(id);
    if (!waits(id)) return;
    answer(take(slot_of(id)).call, std::move(status));
  };
  const auto survey = std::make_shared<ClusterSurvey>(io_, std::move(question), done);
  surveys_.emplace(id, survey);
  survey->start();
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
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    wanted = wanting_ > 0;
  }
  if (wanted) room_.notify_all();
  return call;
}

// Otherwise it has already ended, perhaps at its deadline.
bool LocalCalls::waits(std::uint64_t id) const {
  const std::size_t slot = slot_of(id);
  return slot < slots_.size() && slots_[slot].call && slots_[slot].uses == id >> 32;
}

void LocalCalls::reply(Instant now, const Answer& answer) {
  const std::uint64_t id = std::visit([](const auto& one) { return one.id; }, answer);
  if (!waits(id)) return;
  meter_.on_answer(Protocol::embedded, now, answer, slots_[slot_of(id)].call->asked);
  finish(slot_of(id), answer);
}

void LocalCalls::finish(std::size_t slot, const Answer& told) {
  const Call ended = take(slot);
  if (const auto* done = std::get_if<Done>(&told)) {
    answer(ended.call, Status(done->code, done->detail), done->total);
  } else if (const auto* values = std::get_if<Values>(&told)) {
    answer(ended.call, *values);
  } else if (const auto* query = std::get_if<QueryReply>(&told)) {
    answer(ended.call, *query);
  } else if (const auto* range = std::get_if<RangeReply>(&told)) {
    answer(ended.call, *range);
  } else if (const auto* keys = std::get_if<Keys>(&told)) {
    answer(ended.call, *keys);
  } else if (const auto* names = std::get_if<NamespaceReply>(&told)) {
    answer(ended.call, *names);
  } else {
    QUIPU_CHECK(false, "the library does not ask for key counts");
  }
}

void LocalCalls::end(std::size_t slot, const Status& change, const Status& question) {
  const Call ended = take(slot);
  refuse(ended.call, change, question);
}

void LocalCalls::abandon(const Status& change, const Status& read) {
  for (auto& [id, survey] : surveys_) survey->cancel();
  surveys_.clear();
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
