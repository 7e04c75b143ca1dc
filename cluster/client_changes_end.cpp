// client_changes_end.cpp: how time moves changes on, and how each of them ends.
#include <algorithm>
#include <utility>
#include <vector>

#include "cluster/client_changes.h"

namespace quipu {

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
  if (!sent_.empty()) return true;
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& entry) { return entry.second.opening != 0; });
}

// ---- the end ----

void ClientChanges::stop(Instant now, ClientEffects& effects) {
  unlink();
  for (auto& [store, executor] : executors_)
    unassigned_.splice(unassigned_.end(), executor.queue());
  for (ChangeList* list : {&unassigned_, &resting_, &lost_}) {
    for (ClientChange& change : *list) change.list = list;
    while (!list->empty()) give_up(now, list->begin(), "the client was closed", effects);
  }
}

// The caller waits no longer.
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
    const std::string_view reason = links_.current() ? why : std::string_view(links_.trouble());
    finish(now, entry, Status(Code::unavailable, std::string(reason)), effects);
  }
}

void ClientChanges::finish(Instant now, Entry entry, Status status, ClientEffects& effects) {
  count(*entry, status.outcome());
  effects.complete(entry->call, std::move(status));
  const Token token = entry->token;
  by_id_.erase(entry->id);
  entry->list->erase(entry);
  if (token.store == StoreId{}) return;
  ClientExecutor& was = executor(token.store);
  was.settle(token);
  flush(now, was, effects);
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
  if (outcome != Outcome::unknown && change.sends > 1) ++stats_.settled_by_retry;
  if (outcome != Outcome::applied) return;
  ++stats_.nodes[directory_.connected_name()].through;
  ++stats_.nodes[directory_.name_of(change.token.store)].executed;
}

}  // namespace quipu
