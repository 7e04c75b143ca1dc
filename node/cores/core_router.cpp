#include "node/cores/core_router.h"

#include <algorithm>
#include <asio/post.hpp>
#include <iterator>
#include <utility>

#include "node/base/clock.h"
#include "protocol/check.h"

namespace quipu {
namespace {

constexpr const char* kNotServing = "the node starts or stops";
constexpr std::size_t kSpare = 4;  // pieces of mail

// The answers with the error `why` to a question with this many keys, or to a change.
void refuse(Mail& mail, ClientId client, std::uint64_t id, std::uint32_t keys, const Status& why,
            Asked asked) {
  if (keys == 0) {
    Done done{.id = id, .code = why.code(), .detail = why.detail()};
    done.asked = asked;
    return mail.tell(client, id, std::move(done));
  }
  Value refused;
  refused.code = why.code();
  refused.detail = why.detail();
  mail.tell(client, id, std::vector<Value>(keys, refused), asked);
}

std::size_t weight(const Op&) { return 1; }
std::size_t weight(const Read& read) { return read.keys.size(); }
std::size_t weight(const Mail::Reply& reply) { return std::max<std::size_t>(reply.values, 1); }

}  // namespace

CoreRouter::CoreRouter(asio::io_context& io, CorePort& port, Reply deliver)
    : io_(io), port_(port), reply_(std::move(deliver)) {}

void CoreRouter::meet(std::vector<CoreRouter*> all, const std::vector<MemberIndex>& members,
                      const ClusterConfig& config, std::size_t self) {
  QUIPU_CHECK(all.size() == members.size() && all.size() <= 256,
              "each reactor is a member, and an id has a byte for its number", all.size(),
              members.size());
  if (all.size() < 2) return;
  self_ = self;
  others_.resize(all.size());
  owner_.fill(static_cast<std::uint8_t>(self));
  for (std::size_t i = 0; i < all.size(); ++i) {
    others_[i].router = i == self ? nullptr : all[i];
    others_[i].member = members[i];
    for (const Partition partition : config.owners.owned_by(members[i]))
      owner_[raw(partition)] = static_cast<std::uint8_t>(i);
  }
}

// ---- this reactor's clients ----

std::size_t CoreRouter::home_of(std::string_view key) const {
  const HashKey placement = port_.core()->executor().map().placement_key();
  return owner_[raw(Placement(placement, {key, 0}).partition())];
}

// A change with a token is executed where the token says, and nowhere else.
std::size_t CoreRouter::home_of(const Op& op) const {
  if (op.token.store == StoreId{}) return home_of(op.key);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (port_.core()->view().pinned(others_[i].member) == op.token.store) return i;
  }
  return self_;
}

template <class Asked>
void CoreRouter::send(std::size_t to, ClientId client, const Asked& asked) {
  others_[to].mail.ask(client, asked);
  others_[to].asked += weight(asked);
}

void CoreRouter::on_ops(Instant now, ClientId client, std::span<const Op> ops,
                        std::vector<AtOnce>* at_once) {
  const CorePort::Event event(port_);
  if (others_.empty()) return event->on_ops(now, client, ops, event.effects(), at_once);
  std::vector<Op> own = std::exchange(own_, {});
  for (const Op& op : ops) {
    const std::size_t home = home_of(op);
    if (home == self_) {
      own.push_back(op);
    } else {
      send(home, client, op);
    }
  }
  if (!own.empty()) event->on_ops(now, client, own, event.effects(), at_once);
  own.clear();
  own_ = std::move(own);
}

void CoreRouter::on_read(Instant now, ClientId client, const Read& read) {
  const CorePort::Event event(port_);
  if (others_.empty()) return event->on_read(now, client, read, event.effects());
  homes_.clear();
  for (const std::string_view key : read.keys) homes_.push_back(home_of(key));
  const std::size_t first = homes_.empty() ? self_ : homes_.front();
  if (std::ranges::any_of(homes_, [first](std::size_t home) { return home != first; }))
    return read_in_parts(now, client, read);
  if (first != self_) return send(first, client, read);
  event->on_read(now, client, read, event.effects());
}

void CoreRouter::read_in_parts(Instant now, ClientId client, const Read& read) {
  const CorePort::Event event(port_);
  const auto join = std::make_shared<Join>(Join{client, {read.id, {}}});
  join->values.values.resize(read.keys.size());
  for (std::size_t i = 0; i < others_.size(); ++i) {
    Part part{join, {}};
    Read asked{next_part_, read.level, read.timeout_ms, {}};
    for (std::size_t at = 0; at < homes_.size(); ++at) {
      if (homes_[at] != i) continue;
      part.places.push_back(at);
      asked.keys.push_back(read.keys[at]);
    }
    if (asked.keys.empty()) continue;
    ++join->open;
    parts_.emplace(next_part_++, std::move(part));
    if (i == self_) {
      event->on_read(now, kPartialReads, asked, event.effects());
    } else {
      send(i, kPartialReads, asked);
    }
  }
}

void CoreRouter::on_part(const Answer& answer) {
  const auto* const values = std::get_if<Values>(&answer);
  auto part = values == nullptr ? parts_.end() : parts_.find(values->id);
  if (part == parts_.end()) return;  // from a core that is gone
  const std::shared_ptr<Join> join = part->second.join;
  for (std::size_t i = 0; i < part->second.places.size() && i < values->values.size(); ++i)
    join->values.values[part->second.places[i]] = values->values[i];
  join->values.asked = values->asked;  // the last part's: the read took as long
  parts_.erase(part);
  if (--join->open == 0) reply_(join->client, std::move(join->values));
}

void CoreRouter::read_now(Instant now, std::span<const std::string_view> keys,
                          std::span<Value> values) const {
  port_.core()->read_now(now, keys, values);
  if (others_.empty()) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (home_of(keys[i]) != self_) values[i].shards = 0;
  }
}

bool CoreRouter::decides(std::string_view first, std::span<const std::string_view> keys) const {
  const auto own = [this](std::string_view key) {
    return others_.empty() || home_of(key) == self_;
  };
  return std::ranges::all_of(keys, own) && port_.core()->decides(first, keys);
}

bool CoreRouter::busy() const {
  return std::any_of(others_.begin(), others_.end(), [](const Other& other) {
    const bool paused = other.router != nullptr && other.router->paused_.load();
    return paused || other.asked >= kMaxAsked;
  });
}

bool CoreRouter::acquainted() {
  const auto met = [this](const Other& other) {
    return other.router == nullptr || port_.core()->view().up(other.member);
  };
  acquainted_ = acquainted_ || std::all_of(others_.begin(), others_.end(), met);
  return acquainted_;
}

bool CoreRouter::others_serve() const {
  return std::all_of(others_.begin(), others_.end(), [](const Other& other) {
    return other.router == nullptr || other.router->serving();
  });
}

bool CoreRouter::quiet() const {
  const auto asked = [](const Other& other) { return other.asked > 0; };
  return here_ == 0 && std::none_of(others_.begin(), others_.end(), asked);
}

void CoreRouter::publish(Figures figures) {
  const std::lock_guard lock(figures_mutex_);
  figures_ = std::move(figures);
}

Figures CoreRouter::own_published() const {
  const std::lock_guard lock(figures_mutex_);
  return figures_;
}

std::vector<Figures> CoreRouter::published() const {
  std::vector<Figures> all;
  for (const Other& other : others_) {
    if (other.router == nullptr) continue;
    const std::lock_guard lock(other.router->figures_mutex_);
    if (other.router->figures_.status.node != NodeId{}) all.push_back(other.router->figures_);
  }
  return all;
}

// ---- between reactors ----

void CoreRouter::flush() {
  for (Other& other : others_) {
    if (other.mail.empty()) continue;
    Mail next;
    if (!spare_.empty()) {
      next = std::move(spare_.back());
      spare_.pop_back();
    }
    other.router->post(self_, std::exchange(other.mail, std::move(next)));
  }
}

// The handler does not run once that reactor has ended: then no call waits for it.
void CoreRouter::post(std::size_t from, Mail&& mail) {
  asio::post(io_, [this, from, mail = std::move(mail)]() mutable { take(from, mail); });
}

void CoreRouter::take(std::size_t from, Mail& mail) {
  const CorePort::Event event(port_, CorePort::End::later);
  if (port_.core() != nullptr) {
    take_questions(from, mail);
  } else {
    refuse_questions(from, mail);
  }
  take_replies(from, mail);
  mail.clear();
  if (spare_.size() < kSpare) spare_.push_back(std::move(mail));
}

// Consecutive changes go to the core together, and so do consecutive reads.
void CoreRouter::take_questions(std::size_t from, Mail& mail) {
  const Instant now = NodeClock::now();
  for (std::span<const Mail::Question> left = mail.questions(); !left.empty();) {
    const bool change = left.front().keys == 0;
    const auto end = std::ranges::find_if(
        left, [change](const Mail::Question& one) { return (one.keys == 0) != change; });
    const auto run = left.first(static_cast<std::size_t>(end - left.begin()));
    left = left.subspan(run.size());
    if (change) {
      const std::span<Op> ops = mail.next_ops(run.size());
      for (std::size_t i = 0; i < ops.size(); ++i)
        ops[i].id = admit(from, run[i], {now, operation_of(ops[i])});
      give_ops(now, ops);
    } else {
      keys_.clear();
      for (const Mail::Question& read : run) mail.next_keys(read.keys, keys_);
      give_reads(now, from, run);
    }
  }
}

// There is no core. A retry may have been applied before.
void CoreRouter::refuse_questions(std::size_t from, Mail& mail) {
  const Instant now = NodeClock::now();
  for (const Mail::Question& asked : mail.questions()) {
    const Op* const op = asked.keys == 0 ? &mail.next_ops(1).front() : nullptr;
    const bool retry = op != nullptr && op->token.serial != Serial{};
    refuse(others_[from].mail, asked.client, asked.id, asked.keys,
           {retry ? Code::in_doubt : Code::unavailable, kNotServing},
           {now, op != nullptr ? operation_of(*op) : read_at(asked.level)});
  }
}

void CoreRouter::take_replies(std::size_t from, Mail& mail) {
  for (const Mail::Reply& reply : mail.replies()) {
    others_[from].asked -= weight(reply);
    if (reply.values == 0) {
      reply_(reply.client, std::move(mail.next_done()));
      continue;
    }
    const std::span<const Value> values = mail.next_values(reply.values);
    Values& told = std::get<Values>(told_);
    told.id = reply.id;
    told.values.assign(values.begin(), values.end());
    told.asked = reply.asked;
    reply.client == kPartialReads ? on_part(told_) : reply_(reply.client, told_);
  }
}

// For keys_. Memory is read for all at once, but this serves local reads alone.
void CoreRouter::give_reads(Instant now, std::size_t from, std::span<const Mail::Question> reads) {
  const CorePort::Event event(port_);
  values_.resize(keys_.size());
  port_.core()->read_now(now, keys_, values_);
  std::size_t begin = 0;
  for (const Mail::Question& read : reads) {
    const auto keys = std::span(keys_).subspan(begin, read.keys);
    const auto values = std::span(values_).subspan(begin, read.keys);
    begin += read.keys;
    const bool local = read.level == ReadLevel::local ||
                       (read.level == ReadLevel::by_default && port_.core()->local_by_default());
    const bool known =
        local && std::ranges::all_of(values, [](const Value& value) { return value.shards > 0; });
    if (known) {
      ++memory_reads_;
      others_[from].mail.tell(read.client, read.id, values, {now, read_at(ReadLevel::local)});
    } else {
      event->on_read(now, kPendingCalls,
                     {admit(from, read, {now, read_at(read.level)}),
                      read.level,
                      read.timeout_ms,
                      {keys.begin(), keys.end()}},
                     event.effects());
    }
  }
}

void CoreRouter::give_ops(Instant now, std::span<const Op> ops) {
  const CorePort::Event event(port_);
  event->on_ops(now, kPendingCalls, ops, event.effects(), &at_once_);
  for (AtOnce& known : at_once_) {
    if (known.after == Commit{}) {
      answer(known.done.id, std::move(known.done));
    } else {
      held_.hold(std::move(known.done), known.after);
    }
  }
  at_once_.clear();
}

std::uint64_t CoreRouter::admit(std::size_t from, const Mail::Question& question, Asked asked) {
  if (free_pending_.empty()) {
    free_pending_.push_back(pending_.size());
    pending_.emplace_back();
  }
  const std::size_t at = free_pending_.back();
  free_pending_.pop_back();
  pending_[at] = {from, question.client, question.id, question.keys, true, asked};
  ++here_;
  return at;
}

CoreRouter::PendingCall CoreRouter::dismiss(std::uint64_t at) {
  QUIPU_CHECK(pending_[at].here, "an answer belongs to a pending call", at);
  pending_[at].here = false;
  free_pending_.push_back(at);
  --here_;
  return pending_[at];
}

void CoreRouter::answer(std::uint64_t at, Done done) {
  const PendingCall call = dismiss(at);
  if (done.asked.since == Instant{}) done.asked = call.asked;  // of a plain add
  others_[call.from].mail.tell(call.client, call.id, std::move(done));
}

// ---- from the core ----

void CoreRouter::on_pending_answer(const Answer& told) {
  if (const auto* const done = std::get_if<Done>(&told)) return answer(done->id, *done);
  const auto& values = std::get<Values>(told);
  const PendingCall call = dismiss(values.id);
  others_[call.from].mail.tell(call.client, call.id, values.values, values.asked);
}

void CoreRouter::on_released(Commit durable) {
  held_.release(durable, [this](Done&& done) {
    const std::uint64_t call = done.id;
    answer(call, std::move(done));
  });
}

void CoreRouter::set_paused(bool paused) {
  if (paused_.exchange(paused) == paused || paused) return;
  for (Other& other : others_) {
    if (other.router != nullptr) other.mail.wake();
  }
  flush();
}

void CoreRouter::abandon(const Status& change, const Status& read) {
  acquainted_ = false;
  held_.clear();
  parts_.clear();
  for (std::size_t at = 0; at < pending_.size(); ++at) {
    if (!pending_[at].here) continue;
    const PendingCall call = dismiss(at);
    refuse(others_[call.from].mail, call.client, call.id, call.keys, call.keys == 0 ? change : read,
           call.asked);
  }
  set_paused(false);
  flush();
}

}  // namespace quipu
