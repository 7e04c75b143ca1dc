#include "node/crossing.h"

#include <algorithm>
#include <asio/post.hpp>
#include <cassert>
#include <iterator>
#include <utility>

#include "node/clock.h"

namespace quipu {
namespace {

constexpr const char* kNotServing = "the node starts or stops";

std::uint64_t id_of(const Answer& answer) {
  return std::visit([](const auto& one) { return one.id; }, answer);
}

// An id of ours, in place of what the answer carries.
Answer with_id(Answer answer, std::uint64_t id) {
  std::visit([id](auto& one) { one.id = id; }, answer);
  return answer;
}

// How `why` answers a question of so many keys, or a change.
Answer refusal(std::size_t keys, const Status& why) {
  if (keys == 0) return Done{0, why.code(), why.detail()};
  Value refused;
  refused.code = why.code();
  refused.detail = why.detail();
  return Values{0, std::vector<Value>(keys, refused)};
}

// Of what is asked, and of its answer: how many keys, but 1 at least.
std::size_t weight(const Op&) { return 1; }
std::size_t weight(const Read& read) { return std::max<std::size_t>(read.keys.size(), 1); }
std::size_t weight(const Answer& answer) {
  const auto* const values = std::get_if<Values>(&answer);
  return values == nullptr ? 1 : std::max<std::size_t>(values->values.size(), 1);
}

// The keys of a piece of mail moved with it.
void rebase(std::string_view& key, const char*& at) {
  key = {at, key.size()};
  at += key.size();
}

}  // namespace

Crossing::Crossing(asio::io_context& io, CorePort& port, Deliver deliver)
    : io_(io), port_(port), deliver_(std::move(deliver)) {}

void Crossing::meet(std::vector<Crossing*> all, const std::vector<MemberIndex>& members,
                    const ClusterConfig& config, std::size_t self) {
  assert(all.size() == members.size() && all.size() <= 256);
  if (all.size() < 2) return;
  self_ = self;
  others_.resize(all.size());
  owner_.fill(static_cast<std::uint8_t>(self));
  for (std::size_t i = 0; i < all.size(); ++i) {
    others_[i].crossing = i == self ? nullptr : all[i];
    others_[i].member = members[i];
    const auto owned = config.owners.owned_by(members[i]);
    for (std::size_t p = 0; p < kPartitions; ++p) {
      if (owned[p]) owner_[p] = static_cast<std::uint8_t>(i);
    }
  }
}

// ---- this reactor's clients ----

std::size_t Crossing::home_of(std::string_view key) const {
  const HashKey placement = port_.core->executor().map().placement_key();
  return owner_[raw(Placement(placement, {key, 0}).partition())];
}

// A change with a token is carried out where the token says, and nowhere else.
std::size_t Crossing::home_of(const Op& op) const {
  if (op.token.store == StoreId{}) return home_of(op.key);
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (port_.core->view().pinned(others_[i].member) == op.token.store) return i;
  }
  return self_;
}

void Crossing::send(std::size_t to, ClientId client, const Op& op) {
  Other& other = others_[to];
  other.mail.questions.push_back({client, op});
  other.mail.keys.insert(other.mail.keys.end(), op.key.begin(), op.key.end());
  other.asked += weight(op);
}

void Crossing::send(std::size_t to, ClientId client, const Read& read) {
  Other& other = others_[to];
  other.mail.questions.push_back({client, read});
  for (const std::string_view key : read.keys)
    other.mail.keys.insert(other.mail.keys.end(), key.begin(), key.end());
  other.asked += weight(read);
}

void Crossing::on_ops(Instant now, ClientId client, std::span<const Op> ops,
                      std::vector<AtOnce>* at_once) {
  if (others_.empty()) return port_.core->on_ops(now, client, ops, port_.effects, at_once);
  std::vector<Op> own = std::exchange(own_, {});
  for (const Op& op : ops) {
    const std::size_t home = home_of(op);
    if (home == self_) {
      own.push_back(op);
    } else {
      send(home, client, op);
    }
  }
  if (!own.empty()) port_.core->on_ops(now, client, own, port_.effects, at_once);
  own.clear();
  own_ = std::move(own);
}

void Crossing::on_read(Instant now, ClientId client, const Read& read) {
  if (others_.empty()) return port_.core->on_read(now, client, read, port_.effects);
  homes_.clear();
  for (const std::string_view key : read.keys) homes_.push_back(home_of(key));
  const std::size_t first = homes_.empty() ? self_ : homes_.front();
  if (std::ranges::any_of(homes_, [first](std::size_t home) { return home != first; }))
    return read_in_parts(now, client, read);
  if (first != self_) return send(first, client, read);
  port_.core->on_read(now, client, read, port_.effects);
}

void Crossing::read_in_parts(Instant now, ClientId client, const Read& read) {
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
      port_.core->on_read(now, kParts, asked, port_.effects);
    } else {
      send(i, kParts, asked);
    }
  }
}

void Crossing::on_part(const Answer& answer) {
  const auto* const values = std::get_if<Values>(&answer);
  auto part = values == nullptr ? parts_.end() : parts_.find(values->id);
  if (part == parts_.end()) return;  // of a core that is gone
  const std::shared_ptr<Join> join = part->second.join;
  for (std::size_t i = 0; i < part->second.places.size() && i < values->values.size(); ++i)
    join->values.values[part->second.places[i]] = values->values[i];
  parts_.erase(part);
  if (--join->open == 0) deliver_(join->client, std::move(join->values));
}

void Crossing::read_now(Instant now, std::span<const std::string_view> keys,
                        std::span<Value> values) const {
  port_.core->read_now(now, keys, values);
  if (others_.empty()) return;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (home_of(keys[i]) != self_) values[i].shards = 0;
  }
}

bool Crossing::busy() const {
  return std::any_of(others_.begin(), others_.end(), [](const Other& other) {
    const bool paused = other.crossing != nullptr && other.crossing->paused_.load();
    return paused || other.asked >= kMaxAsked;
  });
}

bool Crossing::acquainted() {
  const auto met = [this](const Other& other) {
    return other.crossing == nullptr || port_.core->view().up(other.member);
  };
  acquainted_ = acquainted_ || std::all_of(others_.begin(), others_.end(), met);
  return acquainted_;
}

bool Crossing::others_serve() const {
  return std::all_of(others_.begin(), others_.end(), [](const Other& other) {
    return other.crossing == nullptr || other.crossing->serving();
  });
}

bool Crossing::quiet() const {
  const auto asked = [](const Other& other) { return other.asked > 0; };
  return here_ == 0 && std::none_of(others_.begin(), others_.end(), asked);
}

void Crossing::publish(Figures figures) {
  const std::lock_guard lock(figures_mutex_);
  figures_ = std::move(figures);
}

std::vector<Figures> Crossing::published() const {
  std::vector<Figures> all;
  for (const Other& other : others_) {
    if (other.crossing == nullptr) continue;
    const std::lock_guard lock(other.crossing->figures_mutex_);
    if (other.crossing->figures_.status.node != NodeId{}) all.push_back(other.crossing->figures_);
  }
  return all;
}

// ---- between reactors ----

void Crossing::flush() {
  for (Other& other : others_) {
    if (!other.mail.empty()) other.crossing->post(self_, std::exchange(other.mail, {}));
  }
}

// The handler is never run once that reactor has ended: nobody waits for it then.
void Crossing::post(std::size_t from, Mail&& mail) {
  asio::post(io_, [this, from, mail = std::move(mail)]() mutable { take(from, mail); });
}

void Crossing::take(std::size_t from, Mail& mail) {
  take_questions(from, mail);
  for (const Returned& returned : mail.answers) {
    others_[from].asked -= weight(returned.answer);
    if (returned.client == kParts) {
      on_part(returned.answer);
    } else {
      deliver_(returned.client, returned.answer);
    }
  }
  port_.finish_later();
}

void Crossing::take_questions(std::size_t from, Mail& mail) {
  if (port_.core == nullptr) {
    for (const Question& question : mail.questions) refuse(from, question);
    return;
  }
  const Instant now = NodeClock::now();
  const char* key = mail.keys.data();
  std::vector<Op> ops;
  std::vector<Read> reads;
  for (Question& question : mail.questions) {
    if (Op* const op = std::get_if<Op>(&question.what)) {
      give(now, reads);
      rebase(op->key, key);
      op->id = admit(from, question.client, op->id, 0);
      ops.push_back(*op);
      continue;
    }
    give(now, ops);
    Read& read = std::get<Read>(question.what);
    for (std::string_view& one : read.keys) rebase(one, key);
    read.id = admit(from, question.client, read.id, read.keys.size());
    reads.push_back(std::move(read));
  }
  give(now, reads);
  give(now, ops);
}

// There is no core. A retry may have been applied before.
void Crossing::refuse(std::size_t from, const Question& question) {
  const auto* const op = std::get_if<Op>(&question.what);
  const bool retry = op != nullptr && op->token.serial != Serial{};
  const Status why(retry ? Code::in_doubt : Code::unavailable, kNotServing);
  const auto* const read = std::get_if<Read>(&question.what);
  const std::uint64_t id = op != nullptr ? op->id : read->id;
  const std::size_t keys = op != nullptr ? 0 : read->keys.size();
  others_[from].mail.answers.push_back({question.client, with_id(refusal(keys, why), id)});
}

// What stands in memory is read all at once.
void Crossing::give(Instant now, std::vector<Read>& reads) {
  if (reads.empty()) return;
  std::vector<std::string_view> keys;
  for (const Read& read : reads) {
    if (read.level == ReadLevel::local) keys.insert(keys.end(), read.keys.begin(), read.keys.end());
  }
  std::vector<Value> values(keys.size());
  port_.core->read_now(now, keys, values);
  auto next = values.begin();
  for (const Read& read : reads) {
    const auto begin = next;
    if (read.level == ReadLevel::local) next += static_cast<std::ptrdiff_t>(read.keys.size());
    const bool known = begin != next && std::all_of(begin, next, [](const Value& value) {
                         return value.shards > 0;
                       });
    if (known) {
      answer(read.id, Values{0, {std::move_iterator(begin), std::move_iterator(next)}});
    } else {
      port_.core->on_read(now, kGuests, read, port_.effects);
    }
  }
  reads.clear();
}

void Crossing::give(Instant now, std::vector<Op>& ops) {
  if (ops.empty()) return;
  port_.core->on_ops(now, kGuests, ops, port_.effects, &at_once_);
  for (AtOnce& known : at_once_) {
    if (known.after == Commit{}) {
      const std::uint64_t guest = known.done.id;
      answer(guest, std::move(known.done));
    } else {
      const Commit before = held_.empty() ? Commit{} : held_.back().first;
      held_.emplace_back(std::max(known.after, before), std::move(known.done));
    }
  }
  at_once_.clear();
  ops.clear();
}

std::uint64_t Crossing::admit(std::size_t from, ClientId client, std::uint64_t id,
                              std::size_t keys) {
  if (free_guests_.empty()) {
    free_guests_.push_back(guests_.size());
    guests_.emplace_back();
  }
  const std::size_t at = free_guests_.back();
  free_guests_.pop_back();
  guests_[at] = {from, client, id, keys, true};
  ++here_;
  return at;
}

void Crossing::answer(std::size_t at, Answer answer) {
  Guest& guest = guests_[at];
  assert(guest.here);
  others_[guest.from].mail.answers.push_back({guest.client, with_id(std::move(answer), guest.id)});
  guest.here = false;
  free_guests_.push_back(at);
  --here_;
}

// ---- from the core ----

void Crossing::on_guest_answer(const Answer& told) { answer(id_of(told), told); }

void Crossing::on_released(Commit durable) {
  while (!held_.empty() && held_.front().first <= durable) {
    Done done = std::move(held_.front().second);
    held_.pop_front();
    const std::size_t at = done.id;
    answer(at, std::move(done));
  }
}

void Crossing::set_paused(bool paused) {
  if (paused_.exchange(paused) == paused || paused) return;
  for (Other& other : others_) other.mail.awake = other.crossing != nullptr;
  flush();
}

void Crossing::abandon(const Status& change, const Status& read) {
  acquainted_ = false;
  held_.clear();
  parts_.clear();
  for (std::size_t at = 0; at < guests_.size(); ++at) {
    if (guests_[at].here)
      answer(at, refusal(guests_[at].keys, guests_[at].keys == 0 ? change : read));
  }
  set_paused(false);
  flush();
}

}  // namespace quipu
