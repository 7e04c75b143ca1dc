#include "cluster/client/questions.h"

#include <algorithm>
#include <utility>

#include "cluster/retry/retry_action.h"
#include "protocol/check.h"
#include "protocol/message_codec.h"

namespace quipu {

void ClientQuestions::ask(std::uint64_t id, Question question, ClientEffects& effects) {
  next_look_ = std::min(next_look_, question.deadline);
  QUIPU_CHECK(!question.frame.empty(), "a question has a frame to be sent", id);
  const auto [entry, fresh] = asks_.emplace(id, Ask{.question = std::move(question)});
  QUIPU_CHECK(fresh, "each question has an id of its own", id);
  if (link_) send(entry, effects);
}

void ClientQuestions::send(Entry entry, ClientEffects& effects) {
  QUIPU_CHECK(link_.has_value(), "a question is sent while a node is connected", entry->first);
  Ask& ask = entry->second;
  ask.doubt |= ask.open;
  ask.open = true;
  ask.again = kNever;
  encode_again(effects.frames(*link_), ask.question.frame, links_.version());
}

ClientQuestions::Entry ClientQuestions::find(std::uint64_t id, Kind kind) {
  const Entry entry = asks_.find(id);
  return entry != asks_.end() && entry->second.question.kind == kind ? entry : asks_.end();
}

void ClientQuestions::on_values(Instant now, Values values, ClientEffects& effects) {
  const Entry entry = find(values.id, Kind::read);
  if (entry == asks_.end()) return;
  if (values.values.size() != entry->second.question.values) {
    finish(entry, Status(Code::unavailable, "the node answered for other keys than requested"),
           effects);
    return;
  }
  const auto unfinished = std::find_if(
      values.values.begin(), values.values.end(),
      [](const Value& value) { return retry_action(value.code, 1) != RetryAction::complete; });
  if (unfinished == values.values.end()) {
    finish(entry, std::move(values), effects);
  } else {
    refuse(now, entry->second, std::move(values));
  }
}

void ClientQuestions::on_query(Instant now, QueryReply reply, ClientEffects& effects) {
  const Entry entry = find(reply.id, Kind::query);
  if (entry == asks_.end()) return;
  if (retry_action(reply.code, 1) == RetryAction::complete)
    return finish(entry, std::move(reply), effects);
  refuse(now, entry->second, std::move(reply));
}

// A list that stopped before its end says where. That is an answer, too.
void ClientQuestions::on_keys(Instant now, Keys keys, ClientEffects& effects) {
  const Entry entry = find(keys.id, Kind::list);
  if (entry == asks_.end()) return;
  if (retry_action(keys.code, 1) == RetryAction::complete)
    return finish(entry, std::move(keys), effects);
  refuse(now, entry->second, std::move(keys));
}

void ClientQuestions::on_range(Instant now, RangeReply reply, ClientEffects& effects) {
  const Entry entry = find(reply.id, Kind::range);
  if (entry == asks_.end()) return;
  if (retry_action(reply.code, 1) == RetryAction::complete)
    return finish(entry, std::move(reply), effects);
  refuse(now, entry->second, std::move(reply));
}

void ClientQuestions::on_config(const ConfigReply& reply, ClientEffects& effects) {
  const Entry entry = find(reply.id, Kind::config);
  if (entry != asks_.end()) finish(entry, std::make_shared<const ConfigReply>(reply), effects);
}

void ClientQuestions::on_namespaces(Instant now, NamespaceReply reply, ClientEffects& effects) {
  Entry entry = find(reply.id, Kind::namespaces);
  if (entry == asks_.end()) entry = find(reply.id, Kind::namespace_change);
  if (entry == asks_.end()) return;
  const bool no_room = reply.code == Code::storage_full && !entry->second.doubt;
  if (reply.code == Code::invalid_argument && entry->second.doubt) {
    reply.code = Code::in_doubt;
    reply.detail = "it may have been carried out before another change: " + reply.detail;
    return finish(entry, std::move(reply), effects);
  }
  if (retry_action(reply.code, 1) == RetryAction::complete || no_room)
    return finish(entry, std::move(reply), effects);
  entry->second.doubt |= describe(reply.code).outcome == Outcome::unknown;
  refuse(now, entry->second, std::move(reply));
}

void ClientQuestions::refuse(Instant now, Ask& ask, ClientAnswer answer) {
  ask.refused = std::move(answer);
  ask.open = false;
  ask.again = now + settings_.retry_interval;
  next_look_ = std::min(next_look_, ask.again);
}

void ClientQuestions::on_done(Instant now, const Done& done, ClientEffects& effects) {
  const Entry entry = find(done.id, Kind::raise);
  if (entry == asks_.end()) return;
  Ask& ask = entry->second;
  // It is repeatable, so it is never too late to ask again.
  const bool no_room = done.code == Code::storage_full && !ask.doubt;
  if (retry_action(done.code, 1) == RetryAction::complete || no_room) {
    finish(entry, Status(done.code, done.detail), effects);
    return;
  }
  refuse(now, ask, Status(done.code, done.detail));
  ask.doubt |= describe(done.code).outcome == Outcome::unknown;
}

void ClientQuestions::on_link(ConnectionId link, ClientEffects& effects) {
  link_ = link;
  for (Entry entry = asks_.begin(); entry != asks_.end(); ++entry) send(entry, effects);
}

void ClientQuestions::on_tick(Instant now, ClientEffects& effects) {
  if (now < next_look_) return;
  next_look_ = kNever;
  for (Entry entry = asks_.begin(); entry != asks_.end();) {
    const Entry here = entry++;
    Ask& ask = here->second;
    if (ask.question.deadline <= now) {
      give_up(here, link_ ? "no answer in time" : links_.trouble(), effects);
      continue;
    }
    if (ask.again <= now && link_) send(here, effects);
    next_look_ = std::min(next_look_, ask.question.deadline);
    if (link_) next_look_ = std::min(next_look_, ask.again);
  }
}

void ClientQuestions::finish(Entry entry, ClientAnswer answer, ClientEffects& effects) {
  effects.complete(entry->second.question.call, std::move(answer));
  asks_.erase(entry);
}

bool ClientQuestions::may_have_changed(const Ask& ask) {
  const bool changes =
      ask.question.kind == Kind::raise || ask.question.kind == Kind::namespace_change;
  return changes && (ask.open || ask.doubt);
}

void ClientQuestions::give_up(Entry entry, const std::string& why, ClientEffects& effects) {
  Ask& ask = entry->second;
  if (may_have_changed(ask)) {
    finish(entry, Status(Code::in_doubt, why), effects);
  } else if (ask.refused) {
    finish(entry, std::move(*ask.refused), effects);
  } else {
    finish(entry, Status(Code::unavailable, why), effects);
  }
}

void ClientQuestions::on_rejected(const Status& why, ClientEffects& effects) {
  for (Entry entry = asks_.begin(); entry != asks_.end();) {
    const Entry here = entry++;
    if (!may_have_changed(here->second)) finish(here, why, effects);
  }
}

void ClientQuestions::stop(ClientEffects& effects) {
  while (!asks_.empty()) give_up(asks_.begin(), "the client was closed", effects);
}

}  // namespace quipu
