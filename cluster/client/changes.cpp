#include "cluster/client/changes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cluster/retry/retry_action.h"
#include "protocol/check.h"
#include "protocol/message_codec.h"
#include "protocol/shard_number.h"

namespace quipu {
namespace {

// Another executor may be able to do what this one cannot.
bool speaks_for_executor(Code code) {
  return code == Code::unavailable || code == Code::storage_full || code == Code::executor_gone;
}

}  // namespace

// ---- on its way out ----

void ClientChanges::submit(Instant now, ClientChange change, ClientEffects& effects) {
  change.id = ids_.take();
  next_expiry_ = std::min(next_expiry_, change.deadline);
  const bool bound = change.sends > 0;
  ChangeList& list = bound ? lost_ : unassigned_;
  list.push_back(std::move(change));
  const Entry entry = std::prev(list.end());
  entry->list = &list;
  by_id_.emplace(entry->id, entry);
  if (!link_) return;
  if (bound) {
    send(now, entry, effects);
  } else {
    assign(now, entry, effects);
  }
}

void ClientChanges::move(Entry entry, ChangeList& to) {
  QUIPU_CHECK(entry->list != nullptr, "a change is in one list", entry->id);
  to.splice(to.end(), *entry->list, entry);
  entry->list = &to;
}

// REQUIRES: a link
void ClientChanges::assign(Instant now, Entry entry, ClientEffects& effects) {
  QUIPU_CHECK(link_.has_value(), "an executor is chosen while a node is connected", entry->id);
  QUIPU_CHECK(entry->sends == 0, "a change that was sent stays with its executor", entry->id,
              entry->sends);
  if (entry->affinity != Affinity{} && !entry->only && wait_for_shards(now, entry, effects)) return;
  const Result<ClientDirectory::Choice> choice = directory_.choose(now, *entry);
  if (choice.status().code() == Code::storage_full && !settings_.wait_for_room)
    return finish(now, entry, choice.status(), effects);
  if (!choice.ok()) return rest(now, entry);
  entry->shard = choice->shard;
  RemoteExecutor& to = executor(choice->executor);
  move(entry, to.queue());
  flush(now, to, effects);
}

// A known number of shards is refreshed now and then, but no add waits for that.
bool ClientChanges::wait_for_shards(Instant now, Entry entry, ClientEffects& effects) {
  const auto knowledge = directory_.knows_usable(now, entry->key);
  if (knowledge == ClientDirectory::Knowledge::recent) return false;
  Ask& ask = ask_shards(entry->key, effects);
  if (knowledge == ClientDirectory::Knowledge::old) return false;
  move(entry, ask.waiting);
  return true;
}

ClientChanges::Ask& ClientChanges::ask_shards(const std::string& key, ClientEffects& effects) {
  const auto [at, fresh] = asking_.try_emplace(key);
  if (!fresh) return asks_.at(at->second);
  Read read;
  read.id = at->second = ids_.take();
  read.timeout_ms = server_timeout(settings_.try_timeout, settings_.try_timeout);
  read.keys.push_back(key);
  encode(effects.frames(*link_), read, links_.version());
  return asks_.emplace(read.id, Ask{key}).first->second;
}

// If the node does not know, the counter is treated as not spread: adds must go on.
bool ClientChanges::on_values(Instant now, const Values& values, ClientEffects& effects) {
  const auto at = asks_.find(values.id);
  if (at == asks_.end()) return false;
  const auto ask = asks_.extract(at);
  asking_.erase(ask.mapped().key);
  const Value* const value = values.values.empty() ? nullptr : &values.values.front();
  const bool told =
      value != nullptr && (value->code == Code::ok || value->code == Code::out_of_range ||
                           value->code == Code::not_permitted);
  const ShardIndex shards = told ? value->shards : ShardIndex{1};
  directory_.learn_usable(now, ask.mapped().key, std::max<ShardIndex>(shards, 1));
  unassign(ask.mapped().waiting);
  assign_all(now, effects);
  return true;
}

void ClientChanges::unassign(ChangeList& changes) {
  for (ClientChange& change : changes) change.list = &unassigned_;
  unassigned_.splice(unassigned_.end(), changes);
}

void ClientChanges::assign_all(Instant now, ClientEffects& effects) {
  ChangeList waiting;
  waiting.swap(unassigned_);
  for (ClientChange& change : waiting) change.list = &waiting;
  while (!waiting.empty()) assign(now, waiting.begin(), effects);
}

void ClientChanges::flush(Instant now, RemoteExecutor& to, ClientEffects& effects) {
  if (!link_) return;
  while (!to.queue().empty()) {
    const std::optional<Token> token = to.take();
    if (!token) {
      if (to.opening == 0) open_session(now, to, effects);
      return;
    }
    const Entry entry = to.queue().begin();
    QUIPU_CHECK(entry->sends == 0 && entry->token == Token{}, "a change gets its token once",
                entry->id, entry->sends);
    entry->token = *token;
    note(*entry, ClientJournalEntry::Kind::bound, Code::ok, effects);
    send(now, entry, effects);
  }
}

void ClientChanges::open_session(Instant now, RemoteExecutor& at, ClientEffects& effects) {
  QUIPU_CHECK(link_ && at.opening == 0, "one session of an executor is opened at a time",
              at.store());
  at.opening = ids_.take();
  at.opening_since = now;
  Op op;
  op.id = at.opening;
  op.kind = OpKind::open_session;
  op.timeout_ms = server_timeout(settings_.try_timeout, settings_.try_timeout);
  op.token.store = at.store();
  encode(effects.frames(*link_), op, links_.version());
}

// An apply needs words. A cluster that is not founded has no salt to make them with.
bool ClientChanges::has_words(ClientChange& change) const {
  if (change.kind != OpKind::apply || !change.words.empty()) return true;
  if (!directory_.founded()) return false;
  change.words = words_to_add(kind_of(*change.only), directory_.placement_key(), change.items);
  change.items = {};
  return true;
}

// REQUIRES: a link, and a token.
void ClientChanges::send(Instant now, Entry entry, ClientEffects& effects) {
  QUIPU_CHECK(link_.has_value(), "a change is sent while a node is connected", entry->id);
  if (!has_words(*entry)) return rest(now, entry);
  RemoteExecutor& to = executor(entry->token.store);
  ++entry->sends;
  entry->token.floor = to.floor(entry->token);
  Op op;
  op.id = entry->id;
  op.kind = entry->kind;
  op.key = entry->key;
  op.words = entry->words;
  op.shard = entry->shard;
  op.amount = entry->amount;
  op.ack = entry->ack;
  op.timeout_ms = server_timeout(entry->deadline - now, settings_.try_timeout);
  op.token = entry->token;
  op.ttl_ms = static_cast<std::uint64_t>(entry->ttl.count());
  op.at_ms = entry->at_ms;
  encode(effects.frames(*link_), op, links_.version());
  to.on_sent(now);
  move(entry, sent_);
}

void ClientChanges::rest(Instant now, Entry entry) {
  entry->wake = now + settings_.retry_interval;
  move(entry, resting_);
}

// ---- answers ----

bool ClientChanges::on_done(Instant now, const Done& done, ClientEffects& effects) {
  const auto at = by_id_.find(done.id);
  if (at == by_id_.end()) {
    for (auto& [store, executor] : executors_) {
      if (executor.opening != done.id) continue;
      on_session(now, executor, done, effects);
      return true;
    }
    return false;
  }
  const Entry entry = at->second;
  if (entry->list != &sent_) return true;  // an unexpected second answer of a confused server
  if (entry->affinity != Affinity{} || done.usable > 1)
    directory_.learn_usable(now, entry->key, done.usable);
  executor(entry->token.store).on_answered(now);
  // An executor that does not know a shard yet refuses it, but only for now.
  const bool unheard_of = done.code == Code::invalid_argument && index_of(entry->shard) > 0;
  if (unheard_of) {
    directory_.forget_usable(entry->key);
    if (entry->affinity != Affinity{}) entry->only = 0;  // perhaps of an unfinished raise
  }
  switch (retry_action(unheard_of ? Code::stale_config : done.code, entry->sends)) {
    case RetryAction::complete:
      if (done.code == Code::ok) directory_.trust(entry->token.store);
      finish(now, entry, Status(done.code, done.detail), effects, done.total);
      break;
    case RetryAction::rebind:
      on_refused(now, entry, done, effects);
      break;
    case RetryAction::retry:
      on_unsettled(now, entry, done, effects);
      break;
  }
  return true;
}

// Certainly not applied.
void ClientChanges::on_refused(Instant now, Entry entry, const Done& done, ClientEffects& effects) {
  RemoteExecutor& who = executor(entry->token.store);
  const Code before = std::exchange(entry->reason, done.code);
  entry->detail = done.detail;
  const bool session_is_bad = done.code == Code::session_window || done.code == Code::token_expired;
  if (session_is_bad) who.retire(entry->token.serial);
  stale_ |= done.code == Code::stale_config || done.code == Code::executor_gone;
  const bool news = speaks_for_executor(done.code) && !directory_.suspected(who.store(), now);
  rebind(now, entry, effects);
  if (news) suspect(now, who, done, effects);
  // At once, if it goes to another executor. But it must not run through refusals in a loop.
  if ((session_is_bad || news) && before != done.code) {
    move(entry, unassigned_);
    if (link_) assign(now, entry, effects);
  }
}

void ClientChanges::rebind(Instant now, Entry entry, ClientEffects& effects) {
  QUIPU_CHECK(entry->sends == 1, "only a change with no copy on its way gets another executor",
              entry->id, entry->sends);
  RemoteExecutor& was = executor(entry->token.store);
  note(*entry, ClientJournalEntry::Kind::unbound, Code::ok, effects);
  was.settle(entry->token);
  entry->token = {};
  entry->sends = 0;
  entry->doubtful = false;
  rest(now, entry);
  flush(now, was, effects);
}

// May have been applied, or may still be.
void ClientChanges::on_unsettled(Instant now, Entry entry, const Done& done,
                                 ClientEffects& effects) {
  entry->reason = done.code;
  entry->detail = done.detail;
  entry->doubtful |= done.code == Code::in_doubt;
  stale_ |= done.code == Code::stale_config;
  RemoteExecutor& who = executor(entry->token.store);
  rest(now, entry);
  // The connected node says so about another node, which it cannot reach.
  const bool unreachable = done.code == Code::in_doubt && !directory_.is_connected(who.store());
  if (unreachable || done.code == Code::storage_failed || speaks_for_executor(done.code)) {
    suspect(now, who, done, effects);
  }
}

void ClientChanges::on_session(Instant now, RemoteExecutor& at, const Done& done,
                               ClientEffects& effects) {
  at.opening = 0;
  if (done.code == Code::ok && done.store == at.store() && done.serial != Serial{}) {
    directory_.trust(at.store());
    at.add_session(done.serial);
    flush(now, at, effects);
    return;
  }
  if (done.code == Code::not_permitted) {
    while (!at.queue().empty())
      finish(now, at.queue().begin(), Status(done.code, done.detail), effects);
    return;
  }
  for (ClientChange& change : at.queue()) {
    change.reason = done.code == Code::ok ? Code::unavailable : done.code;
    change.detail = done.detail;
  }
  stale_ |= done.code == Code::stale_config || done.code == Code::executor_gone;
  suspect(now, at, done, effects);
}

// ---- executors ----

// New changes go to another executor. Those that were sent stay bound.
void ClientChanges::suspect(Instant now, RemoteExecutor& who, ClientEffects& effects) {
  directory_.suspect(who.store(), now);
  unassign_from(now, who, effects);
}

void ClientChanges::suspect(Instant now, RemoteExecutor& who, const Done& said,
                            ClientEffects& effects) {
  if (said.code != Code::storage_full) return suspect(now, who, effects);
  directory_.suspect_full(who.store(), now, said.detail);
  unassign_from(now, who, effects);
}

void ClientChanges::unassign_from(Instant now, RemoteExecutor& who, ClientEffects& effects) {
  who.retire_all();
  who.opening = 0;
  unassign(who.queue());
  if (link_) assign_all(now, effects);
}

void ClientChanges::suspect_silent(Instant now, ClientEffects& effects) {
  std::vector<StoreId> silent;
  for (auto& [store, executor] : executors_) {
    const Instant since = executor.quiet_since();
    if (since == kNever || now - since < settings_.executor_patience) continue;
    if (!directory_.suspected(store, now)) silent.push_back(store);
  }
  for (const StoreId store : silent) suspect(now, executor(store), effects);
}

// ---- the link ----

void ClientChanges::on_parted(Instant now, ClientEffects& effects) {
  link_.reset();  // nothing more is sent over it
  for (auto next = sent_.begin(); next != sent_.end();) {
    const Entry entry = next++;
    if (entry->sends > 1) continue;  // an earlier copy may have been carried out
    entry->reason = Code::unavailable;
    rebind(now, entry, effects);
  }
}

void ClientChanges::on_lost_link(Instant now, ClientEffects& effects) {
  for (ClientChange& change : sent_) change.doubtful = true;
  unlink();
  suspect(now, executor(directory_.connected_store()), effects);
}

void ClientChanges::unlink() {
  link_.reset();
  for (ClientChange& change : sent_) change.list = &lost_;
  lost_.splice(lost_.end(), sent_);
  for (auto& [id, ask] : asks_) unassign(ask.waiting);
  asks_.clear();
  asking_.clear();
  for (auto& [store, executor] : executors_) executor.on_lost_connection();
}

void ClientChanges::on_link(Instant now, ConnectionId link, ClientEffects& effects) {
  if (link_) unlink();
  link_ = link;
  directory_.trust(directory_.connected_store());  // it has just answered
  while (!lost_.empty()) send(now, lost_.begin(), effects);
  on_config(now, effects);
}

// Changes that were not sent yet get a new executor: the connected node, if it can.
void ClientChanges::on_config(Instant now, ClientEffects& effects) {
  if (!link_) return;
  for (auto& [store, executor] : executors_) unassign(executor.queue());
  assign_all(now, effects);
  std::erase_if(executors_, [this](auto& entry) {
    return entry.second.idle() && !directory_.is_member(entry.first);
  });
}

// ---- time ----

void ClientChanges::wake(Instant now, ClientEffects& effects) {
  while (!resting_.empty() && resting_.front().wake <= now) {
    const Entry entry = resting_.begin();
    if (entry->sends == 0) {
      move(entry, unassigned_);
      if (link_) assign(now, entry, effects);
    } else if (link_) {
      send(now, entry, effects);
    } else {
      move(entry, lost_);
    }
  }
}

void ClientChanges::expire(Instant now, ClientEffects& effects) {
  std::vector<Entry> expired;
  next_expiry_ = kNever;
  const auto look = [&](ChangeList& list) {
    for (Entry entry = list.begin(); entry != list.end(); ++entry) {
      if (entry->deadline <= now) {
        expired.push_back(entry);
      } else {
        next_expiry_ = std::min(next_expiry_, entry->deadline);
      }
    }
  };
  for (ChangeList* list : {&unassigned_, &sent_, &lost_, &resting_}) look(*list);
  for (auto& [id, ask] : asks_) look(ask.waiting);
  for (auto& [store, executor] : executors_) look(executor.queue());
  for (const Entry entry : expired) {
    give_up(now, entry, "no executor answered in time", effects);
  }
}

void ClientChanges::on_tick(Instant now, ClientEffects& effects) {
  if (now >= next_expiry_) expire(now, effects);
  suspect_silent(now, effects);
  wake(now, effects);
}

Instant ClientChanges::deadline() const {
  Instant at = next_expiry_;
  if (!resting_.empty()) at = std::min(at, resting_.front().wake);
  for (const auto& [store, executor] : executors_) {
    const Instant since = executor.quiet_since();
    if (since == kNever) continue;
    at = std::min(at,
                  std::max(since + settings_.executor_patience, directory_.suspected_until(store)));
  }
  return at;
}

bool ClientChanges::waiting() const {
  if (!sent_.empty() || !asks_.empty()) return true;
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& entry) { return entry.second.opening != 0; });
}

// ---- the end ----

void ClientChanges::on_rejected(Instant now, const Status& why, ClientEffects& effects) {
  for (auto& [store, executor] : executors_)
    unassigned_.splice(unassigned_.end(), executor.queue());
  for (ChangeList* list : {&unassigned_, &resting_}) {
    for (Entry entry = list->begin(); entry != list->end();) {
      const Entry here = entry++;
      here->list = list;
      if (here->sends == 0) finish(now, here, why, effects);
    }
  }
}

void ClientChanges::stop(Instant now, ClientEffects& effects) {
  unlink();
  for (auto& [store, executor] : executors_)
    unassigned_.splice(unassigned_.end(), executor.queue());
  for (ChangeList* list : {&unassigned_, &resting_, &lost_}) {
    for (ClientChange& change : *list) change.list = list;
    while (!list->empty()) give_up(now, list->begin(), "the client was closed", effects);
  }
  QUIPU_CHECK(by_id_.empty(), "no change outlives its client", by_id_.size());
}

// The caller does not wait any more.
void ClientChanges::give_up(Instant now, Entry entry, std::string_view why,
                            ClientEffects& effects) {
  if (entry->list == &sent_) executor(entry->token.store).on_given_up();
  if (entry->sends > 0) {
    std::string detail(why);
    detail += ": sent to " + directory_.name_of(entry->token.store) + ", which did not confirm it";
    if (!entry->detail.empty()) detail += "; last answer: " + entry->detail;
    finish(now, entry, Status(Code::in_doubt, std::move(detail)), effects);
  } else if (entry->reason != Code::ok && describe(entry->reason).outcome == Outcome::not_applied) {
    finish(now, entry, Status(entry->reason, entry->detail), effects);
  } else {
    finish(now, entry, Status(Code::unavailable, why_unassigned(why)), effects);
  }
}

std::string ClientChanges::why_unassigned(std::string_view otherwise) const {
  if (!links_.current()) return links_.trouble();
  return directory_.founded() ? std::string(otherwise) : directory_.founding();
}

void ClientChanges::finish(Instant now, Entry entry, Status status, ClientEffects& effects,
                           std::optional<std::int64_t> total) {
  count(*entry, status.outcome());
  const Token token = entry->token;
  // A later client may still retry it. Then no floor may pass its number.
  const bool open = settings_.journaled && status.code() == Code::in_doubt;
  // Refused for good with this token. With another one, a later client may be luckier: the
  // namespace was defined meanwhile, the counter of another kind was reset, or the user may do it.
  const bool curable = status.code() == Code::undefined_namespace ||
                       status.code() == Code::wrong_type || status.code() == Code::not_permitted;
  const auto kind = curable ? ClientJournalEntry::Kind::unbound : ClientJournalEntry::Kind::settled;
  if (token.store != StoreId{} && !open) note(*entry, kind, status.code(), effects);
  effects.complete(entry->call, std::move(status), total);
  const std::size_t erased = by_id_.erase(entry->id);
  QUIPU_CHECK(erased == 1, "a change ends once", entry->id);
  entry->list->erase(entry);
  if (token.store == StoreId{} || open) return;
  RemoteExecutor& was = executor(token.store);
  was.settle(token);
  flush(now, was, effects);
}

void ClientChanges::note(const ClientChange& change, ClientJournalEntry::Kind kind, Code code,
                         ClientEffects& effects) const {
  if (!settings_.journaled) return;
  effects.journal.push_back({change.ticket, kind, {change.shard, change.token}, code});
}

void ClientChanges::count(const ClientChange& change, Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      ++stats_.applied;
      break;
    case Outcome::not_applied:
      ++stats_.refused;
      break;
    case Outcome::unknown:
      ++stats_.unknown;
      break;
  }
  const bool settled = outcome != Outcome::unknown && change.sends > 1;
  if (settled) ++stats_.settled_by_retry;
  if (settled && change.doubtful) ++stats_.settled_doubts;
  if (outcome != Outcome::applied) return;
  ++stats_.nodes[directory_.connected_name()].through;
  ++stats_.nodes[directory_.name_of(change.token.store)].executed;
}

}  // namespace quipu
