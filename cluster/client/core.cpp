#include "cluster/client/core.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"
#include "protocol/item_words.h"
#include "protocol/namespace.h"
#include "protocol/shard_number.h"

namespace quipu {
namespace {

constexpr const char* kNoPlacement =
    "no founded cluster was reached yet, so no item can be asked about: ask again";

constexpr Duration kLongest = std::chrono::hours(24);

// Rounded up, so that calls expire in groups.
Instant deadline_of(Instant now, Duration timeout) {
  return std::chrono::ceil<std::chrono::duration<std::int64_t, std::centi>>(
      now + std::min(timeout, kLongest));
}

}  // namespace

ClientCore::ClientCore(ClientSettings settings, Random random)
    : settings_(std::move(settings)),
      links_(settings_),
      directory_(settings_, random),
      changes_(settings_, links_, directory_, ids_),
      questions_(settings_, links_, ids_) {}

// ---- calls ----

bool ClientCore::has_room(CallId call, std::size_t more, ClientEffects& effects) const {
  if (in_flight() + more <= settings_.max_in_flight) return true;
  effects.complete(call, Status(Code::overloaded, "too many calls are waiting in this client"));
  return false;
}

// Checked before a key is put into a frame, which it might overflow.
std::string ClientCore::objection_to(std::string_view key) {
  if (key.empty()) return "a key has at least 1 byte";
  if (key.size() > kMaxKey) return "a key has at most 512 bytes";
  return {};
}

bool ClientCore::admit(CallId call, const std::string& key, Duration timeout,
                       ClientEffects& effects) {
  std::string objection = objection_to(key);
  if (timeout <= Duration::zero()) objection = "a timeout is above 0";
  if (objection.empty()) return has_room(call, 1, effects);
  effects.complete(call, Status(Code::invalid_argument, std::move(objection)));
  return false;
}

// While the nodes refuse the credentials, nothing new is asked of them.
bool ClientCore::is_rejected(CallId call, ClientEffects& effects) const {
  auto rejected = links_.rejection();
  if (rejected) effects.complete(call, std::move(*rejected));
  return rejected.has_value();
}

void ClientCore::add(Instant now, CallId call, Change change, ClientEffects& effects) {
  submit_new(now, call, std::move(change), OpKind::add, effects);
}

void ClientCore::apply(Instant now, CallId call, Change change, ClientEffects& effects) {
  QUIPU_CHECK(change.counter != Kind::sum, "sums have adds", change.key);
  std::string why = objection(change.counter, change.items);
  if (change.words.size() > kMaxDecisionWords) why = "a change has at most 256 KiB of words";
  if (!why.empty()) return effects.complete(call, Status(Code::invalid_argument, std::move(why)));
  submit_new(now, call, std::move(change), OpKind::apply, effects);
}

void ClientCore::submit_new(Instant now, CallId call, Change change, OpKind kind,
                            ClientEffects& effects) {
  if (!admit(call, change.key, change.timeout, effects)) return;
  // What was sent before may have been applied: it waits for its deadline.
  if (!change.bound && is_rejected(call, effects)) return;
  if (change.ttl < change.ttl.zero() || change.ttl > kMaxTtl)
    return effects.complete(call, Status(Code::invalid_argument, kImpossibleTtl));
  ClientChange add;
  add.call = call;
  add.kind = kind;
  add.words = std::move(change.words);
  add.items = std::move(change.items);
  if (kind == OpKind::apply) add.only = shard_of(change.counter);
  add.key = std::move(change.key);
  add.amount = change.amount;
  add.ack = change.ack;
  add.affinity = change.affinity;
  add.ttl = change.ttl;
  add.at_ms = change.at_ms;
  add.ticket = change.ticket;
  if (change.bound) {
    add.shard = change.bound->shard;
    add.token = change.bound->token;
    add.sends = 1;  // for all we know
    add.doubtful = true;
  }
  add.deadline = deadline_of(now, change.timeout);
  submit(now, std::move(add), effects);
}

// A counter ends as a whole. Its first shard is the place that says so.
void ClientCore::expire(Instant now, CallId call, Change change, ClientEffects& effects) {
  if (!admit(call, change.key, change.timeout, effects) || is_rejected(call, effects)) return;
  ClientChange expire;
  expire.call = call;
  expire.kind = OpKind::expire;
  expire.key = std::move(change.key);
  expire.only = shard_of(change.counter);
  expire.amount = change.amount;
  expire.ack = change.ack;
  expire.deadline = deadline_of(now, change.timeout);
  submit(now, std::move(expire), effects);
}

void ClientCore::submit(Instant now, ClientChange change, ClientEffects& effects) {
  changes_.submit(now, std::move(change), effects);
  links_.set_waiting(now, changes_.waiting() || questions_.waiting());
}

void ClientCore::raise(Instant now, CallId call, const Change& change, ClientEffects& effects) {
  if (!admit(call, change.key, change.timeout, effects) || is_rejected(call, effects)) return;
  if (change.amount < 1 || change.amount > kMaxShards) {
    effects.complete(call, Status(Code::invalid_argument, "a counter has 1 to 1024 shards"));
    return;
  }
  Op op;
  op.id = questions_.next_id();
  op.kind = OpKind::raise;
  op.key = change.key;
  op.shard = 0;
  op.amount = change.amount;
  op.ack = change.ack;
  op.timeout_ms = server_timeout(change.timeout, settings_.try_timeout);
  ask(now,
      {.kind = ClientQuestions::Kind::raise,
       .call = call,
       .deadline = deadline_of(now, change.timeout)},
      op, effects);
}

// ---- questions ----

bool ClientCore::may_ask(CallId call, Duration timeout, ClientEffects& effects) {
  if (timeout > Duration::zero()) return !is_rejected(call, effects) && has_room(call, 1, effects);
  effects.complete(call, Status(Code::invalid_argument, "a timeout is above 0"));
  return false;
}

template <class Request>
void ClientCore::ask(Instant now, ClientQuestions::Question question, const Request& request,
                     ClientEffects& effects) {
  encode(question.frame, request);
  questions_.ask(request.id, std::move(question), effects);
  after(now, ClientLinks::Event::none, effects);
}

void ClientCore::read(Instant now, CallId call, const Question& question, ClientEffects& effects) {
  if (question.keys.empty() || question.keys.size() > kMaxReadKeys) {
    effects.complete(call, Status(Code::invalid_argument, "a read is of 1 to 1024 keys"));
    return;
  }
  for (const std::string& key : question.keys) {
    if (std::string objection = objection_to(key); !objection.empty())
      return effects.complete(call, Status(Code::invalid_argument, std::move(objection)));
  }
  if (!may_ask(call, question.timeout, effects)) return;
  Read read;
  read.id = questions_.next_id();
  read.level = question.level;
  read.timeout_ms = server_timeout(question.timeout, question.timeout);
  read.keys.assign(question.keys.begin(), question.keys.end());
  ask(now,
      {.kind = ClientQuestions::Kind::read,
       .call = call,
       .values = read.keys.size(),
       .deadline = deadline_of(now, question.timeout)},
      read, effects);
}

void ClientCore::range(Instant now, CallId call, RangeRequest request, Duration timeout,
                       ClientEffects& effects) {
  if (std::string objection = objection_to(request.key); !objection.empty())
    return effects.complete(call, Status(Code::invalid_argument, std::move(objection)));
  if (!may_ask(call, timeout, effects)) return;
  request.id = questions_.next_id();
  request.timeout_ms = server_timeout(timeout, timeout);
  ask(now,
      {.kind = ClientQuestions::Kind::range, .call = call, .deadline = deadline_of(now, timeout)},
      request, effects);
}

void ClientCore::query(Instant now, CallId call, Query request, std::span<const std::string> items,
                       Duration timeout, ClientEffects& effects) {
  std::string objection, words;
  if (request.keys.empty() || request.keys.size() > kMaxReadKeys)
    objection = "a query is of 1 to 1024 keys";
  for (const std::string_view key : request.keys) {
    if (objection.empty()) objection = objection_to(key);
  }
  if (items.size() > most_items(request.kind))
    objection =
        "one call asks about at most " + std::to_string(most_items(request.kind)) + " items";
  if (!objection.empty())
    return effects.complete(call, Status(Code::invalid_argument, std::move(objection)));
  if (!items.empty() && !directory_.founded())
    return effects.complete(call, Status(Code::unavailable, kNoPlacement));
  if (!items.empty()) {
    words = question_about(request.kind, directory_.placement_key(), items);
    request.words = words;
  }
  if (!may_ask(call, timeout, effects)) return;
  request.id = questions_.next_id();
  request.timeout_ms = server_timeout(timeout, timeout);
  ask(now,
      {.kind = ClientQuestions::Kind::query, .call = call, .deadline = deadline_of(now, timeout)},
      request, effects);
}

void ClientCore::list(Instant now, CallId call, const Listing& listing, ClientEffects& effects) {
  if (listing.prefix.size() > kMaxKey) {
    effects.complete(call, Status(Code::invalid_argument, "a prefix has at most 512 bytes"));
    return;
  }
  if (!may_ask(call, listing.timeout, effects)) return;
  ask(now,
      {.kind = ClientQuestions::Kind::list,
       .call = call,
       .deadline = deadline_of(now, listing.timeout)},
      List{.id = questions_.next_id(),
           .prefix = listing.prefix,
           .cursor = listing.cursor,
           .limit = listing.limit,
           .timeout_ms = server_timeout(listing.timeout, listing.timeout)},
      effects);
}

void ClientCore::namespaces(Instant now, CallId call, NamespaceRequest request, Duration timeout,
                            ClientEffects& effects) {
  // A node would refuse the frame, and close the connection.
  // (A set may change `late` alone. The node knows the tiers.)
  NamespacePolicy alone = request.policy;
  const bool sets_late_alone = request.action == NamespaceAction::set && alone.tiers.empty() &&
                               alone.late > std::chrono::milliseconds(0) && alone.late <= kMaxTtl;
  if (sets_late_alone) alone.late.reset();
  // Nor does a set change what is fixed. The node says so.
  if (request.action == NamespaceAction::set) alone.kind.reset(), alone.precision.reset();
  if (std::string why = objection(request.name, alone); !why.empty())
    return effects.complete(call, Status(Code::invalid_argument, std::move(why)));
  if (!may_ask(call, timeout, effects)) return;
  request.id = questions_.next_id();
  request.timeout_ms = server_timeout(timeout, timeout);
  const bool only_reads = request.action == NamespaceAction::list;
  ask(now,
      {.kind =
           only_reads ? ClientQuestions::Kind::namespaces : ClientQuestions::Kind::namespace_change,
       .call = call,
       .deadline = deadline_of(now, timeout)},
      request, effects);
}

void ClientCore::config(Instant now, CallId call, Duration timeout, ClientEffects& effects) {
  if (!may_ask(call, timeout, effects)) return;
  ask(now,
      {.kind = ClientQuestions::Kind::config, .call = call, .deadline = deadline_of(now, timeout)},
      ConfigRequest{.id = questions_.next_id()}, effects);
}

// ---- resets ----

void ClientCore::reset(Instant now, CallId call, const Change& change, ClientEffects& effects) {
  if (!admit(call, change.key, change.timeout, effects) || is_rejected(call, effects)) return;
  if (change.counter != Kind::sum) {  // it has one shard
    ClientChange reset;
    reset.call = call;
    reset.kind = OpKind::reset;
    reset.key = change.key;
    reset.only = shard_of(change.counter);
    reset.ack = change.ack;
    reset.at_ms = change.at_ms;
    reset.deadline = deadline_of(now, change.timeout);
    return submit(now, std::move(reset), effects);
  }
  const CallId part = resets_.begin({.call = call,
                                     .key = change.key,
                                     .ack = change.ack,
                                     .at_ms = change.at_ms,
                                     .deadline = deadline_of(now, change.timeout)});
  ask_shards(now, part, *resets_.find(part), effects);
  settle_resets(now, effects);
}

// A reset at quorum must find every shard that an add at quorum may have used.
void ClientCore::ask_shards(Instant now, CallId part, const ClientResets::Reset& reset,
                            ClientEffects& effects) {
  const ReadLevel level = reset.ack == Ack::quorum ? ReadLevel::strong : ReadLevel::local;
  const auto left = std::max(reset.deadline - now, Duration(1));
  read(now, part, {.keys = {reset.key}, .level = level, .timeout = left}, effects);
}

void ClientCore::on_shards(Instant now, CallId part, const ClientAnswer& answer,
                           ClientEffects& effects) {
  const Values* values = std::get_if<Values>(&answer);
  QUIPU_CHECK(values == nullptr || values->values.size() == 1,
              "a question about one key has one answer", part);
  const Value* value = values == nullptr ? nullptr : &values->values.front();
  // A user without the permission read gets the kind and the number of shards, and no total.
  const bool unread = value != nullptr && value->code == Code::not_permitted;
  const bool other_kind =
      value != nullptr && (value->code == Code::wrong_type || (unread && value->kind != Kind::sum));
  Status failed;
  if (value == nullptr) {
    failed = std::get<Status>(answer);
  } else if (value->code != Code::ok && value->code != Code::out_of_range && !other_kind &&
             !unread) {
    failed = Status(value->code, value->detail);
  }
  if (!failed.ok()) {
    if (auto done = resets_.fail(part, std::move(failed)))
      effects.completions.push_back(std::move(*done));
    return;
  }
  ClientResets::Reset* reset = resets_.find(part);
  QUIPU_CHECK(reset != nullptr && reset->parts == 0, "a reset is divided into parts once", part);
  // Only the nodes know what the namespace of the key says.
  if (reset->ack == Ack::by_default) {
    reset->ack = value->ack.value_or(Ack::disk);
    if (reset->ack == Ack::quorum) return ask_shards(now, part, *reset, effects);
  }
  // A counter of another kind has one shard.
  reset->parts = reset->open =
      other_kind ? ShardIndex{1} : std::clamp<ShardIndex>(value->shards, 1, kMaxShards);
  const Kind kind = other_kind ? value->kind : Kind::sum;
  if (in_flight() + reset->parts > settings_.max_in_flight) {
    const Status full(Code::overloaded, "too many calls are waiting in this client");
    if (auto done = resets_.fail(part, full)) effects.completions.push_back(std::move(*done));
    return;
  }
  ClientChange change;
  change.call = part;
  change.kind = OpKind::reset;
  change.key = reset->key;
  change.ack = reset->ack;
  change.at_ms = reset->at_ms;
  change.deadline = reset->deadline;
  const auto parts = static_cast<ShardIndex>(reset->parts);
  for (ShardIndex shard = 0; shard < parts; ++shard) {
    change.only = shard_of(kind, shard);
    changes_.submit(now, change, effects);
  }
}

// Removes the completions of parts, and adds those of whole resets.
void ClientCore::settle_resets(Instant now, ClientEffects& effects) {
  for (;;) {
    const auto is_part = [](const auto& completion) {
      return ClientResets::is_part(completion.call);
    };
    const auto at = std::find_if(effects.completions.begin(), effects.completions.end(), is_part);
    if (at == effects.completions.end()) return;
    const CallId part = at->call;
    ClientAnswer answer = std::move(at->answer);
    effects.completions.erase(at);
    const ClientResets::Reset* reset = resets_.find(part);
    if (reset == nullptr) continue;
    if (reset->parts == 0) {
      on_shards(now, part, answer, effects);
    } else if (auto done = resets_.on_part(part, std::get<Status>(std::move(answer)))) {
      effects.completions.push_back(std::move(*done));
    }
  }
}

// ---- connections ----

void ClientCore::on_connected(Instant now, ConnectionId connection, ClientEffects& effects) {
  links_.on_connected(now, connection, effects);
  after(now, ClientLinks::Event::none, effects);
}

void ClientCore::on_closed(Instant now, ConnectionId connection, std::string why,
                           ClientEffects& effects) {
  after(now, links_.on_closed(now, connection, std::move(why)), effects);
}

void ClientCore::break_off(Instant now, ConnectionId connection, std::string why,
                           ClientEffects& effects) {
  after(now, links_.give_up(now, connection, std::move(why), effects), effects);
}

void ClientCore::on_frame(Instant now, ConnectionId connection, FrameType type, Payload payload,
                          ClientEffects& effects) {
  links_.on_heard(now, connection);
  if (type == FrameType::refusal) {
    const Result<Refusal> refusal = decode_refusal(payload);
    if (!refusal.ok()) return break_off(now, connection, "refused us", effects);
    if (refusal->code == Code::unavailable && links_.current() == connection)
      changes_.on_parted(now, effects);
    after(now, links_.on_refused(now, connection, *refusal, effects), effects);
  } else if (const auto admitted = answer_to_credentials(type, payload)) {
    if (admitted->ok()) return after(now, ClientLinks::Event::none, effects);
    const Refusal refusal{admitted->code(), admitted->detail()};
    after(now, links_.on_refused(now, connection, refusal, effects), effects);
  } else if (type == FrameType::config_reply) {
    const Result<ConfigReply> reply = decode_config_reply(payload);
    if (!reply.ok()) {
      break_off(now, connection, reply.status().message(), effects);
    } else {
      on_config(now, connection, *reply, effects);
    }
  } else if (links_.current() == connection) {
    on_data(now, connection, type, payload, effects);
  }
}

void ClientCore::on_config(Instant now, ConnectionId connection, const ConfigReply& reply,
                           ClientEffects& effects) {
  if (!ClientDirectory::sound(reply)) {
    break_off(now, connection, "its config contradicts itself", effects);
    return;
  }
  const ClientLinks::Event change = links_.on_config(now, connection, reply, effects);
  if (links_.current() == connection) {
    directory_.learn(reply);
    questions_.on_config(reply, effects);
    if (change == ClientLinks::Event::none) changes_.on_config(now, effects);
  }
  after(now, change, effects);
}

void ClientCore::on_data(Instant now, ConnectionId connection, FrameType type, Payload payload,
                         ClientEffects& effects) {
  bool understood = false;
  if (type == FrameType::done) {
    const Result<Done> done = decode_done(payload);
    understood = done.ok();
    if (done.ok() && !changes_.on_done(now, *done, effects))
      questions_.on_done(now, *done, effects);
  } else if (type == FrameType::values) {
    Result<Values> values = decode_values(payload);
    understood = values.ok();
    if (values.ok() && !changes_.on_values(now, *values, effects))
      questions_.on_values(now, std::move(*values), effects);
  } else if (type == FrameType::keys) {
    Result<Keys> keys = decode_keys(payload);
    understood = keys.ok();
    if (keys.ok()) questions_.on_keys(now, std::move(*keys), effects);
  } else if (type == FrameType::query_reply) {
    Result<QueryReply> reply = decode_query_reply(payload);
    understood = reply.ok();
    if (reply.ok()) questions_.on_query(now, std::move(*reply), effects);
  } else if (type == FrameType::range_reply) {
    Result<RangeReply> reply = decode_range_reply(payload);
    understood = reply.ok();
    if (reply.ok()) questions_.on_range(now, std::move(*reply), effects);
  } else if (type == FrameType::namespaces_reply) {
    Result<NamespaceReply> reply = decode_namespace_reply(payload);
    understood = reply.ok();
    if (reply.ok()) questions_.on_namespaces(now, std::move(*reply), effects);
  }
  if (understood) {
    after(now, ClientLinks::Event::none, effects);
  } else {
    break_off(now, connection, "sent what is no answer", effects);
  }
}

// ---- the end of every event ----

void ClientCore::react(Instant now, ClientLinks::Event change, ClientEffects& effects) {
  if (change == ClientLinks::Event::lost) {
    changes_.on_lost_link(now, effects);
    questions_.on_lost_link();
  } else if (change == ClientLinks::Event::taken) {
    QUIPU_CHECK(links_.current().has_value(), "a link that was taken is the current one");
    changes_.on_link(now, *links_.current(), effects);
    questions_.on_link(*links_.current(), effects);
  }
}

void ClientCore::after(Instant now, ClientLinks::Event change, ClientEffects& effects) {
  react(now, change, effects);
  react(now, links_.on_tick(now, effects), effects);
  changes_.on_tick(now, effects);
  questions_.on_tick(now, effects);
  if (const auto rejected = links_.rejection()) {
    changes_.on_rejected(now, *rejected, effects);
    questions_.on_rejected(*rejected, effects);
  }
  if (!resets_.empty()) settle_resets(now, effects);
  if (changes_.take_stale()) links_.ask_config(effects);
  links_.set_waiting(now, changes_.waiting() || questions_.waiting());
}

void ClientCore::on_tick(Instant now, ClientEffects& effects) {
  after(now, ClientLinks::Event::none, effects);
}

Instant ClientCore::deadline() const {
  return std::min({links_.deadline(), changes_.deadline(), questions_.deadline()});
}

void ClientCore::stop(Instant now, ClientEffects& effects) {
  questions_.stop(effects);
  changes_.stop(now, effects);
  settle_resets(now, effects);
  QUIPU_CHECK(in_flight() == 0 && resets_.empty(), "no call outlives its client", in_flight());
}

}  // namespace quipu
