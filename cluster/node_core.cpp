#include "cluster/node_core.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "cluster/gates/peer_traits.h"
#include "protocol/check.h"
#include "storage/kinds/parts.h"

namespace quipu {

ExecutorOptions executor_options(const ClusterConfig& config, MemberIndex self,
                                 const NodeSettings& settings) {
  ExecutorOptions options;
  options.tokens = settings.tokens;
  options.checkpoint = settings.checkpoint;
  options.memory = {settings.memory_limit, config.owners.owned_by(self)};
  options.has_peers = config.members.size() > 1;
  return options;
}

namespace {

// How often the machine's clock is looked at, at least.
constexpr Duration kClockInterval = std::chrono::milliseconds(100);

// By member: whether it has another clock than this one.
std::vector<bool> other_clocks(const ClusterConfig& config, MemberIndex self,
                               const NodeSettings& settings) {
  std::vector<bool> others(config.members.size(), true);
  others[self] = false;
  for (const MemberIndex member : settings.same_clock) others[member] = false;
  return others;
}

}  // namespace

NodeCore::NodeCore(Instant now, Wall wall, ClusterConfig config, MemberIndex self,
                   NodeSettings settings, std::unique_ptr<Executor> executor, Random random,
                   Service service)
    : config_(std::move(config)),
      self_(self),
      settings_(std::move(settings)),
      service_(service),
      executor_(std::move(executor)),
      random_(random),
      view_(config_, self, executor_->meta().lineage.back().boot),
      clock_(now, wall,
             {other_clocks(config_, self_, settings_), settings_.clock_skew,
              settings_.gossip_interval}),
      identity_(view_, *executor_, now + settings_.confirm_wait),
      seals_(*executor_),
      backpressure_(settings_, config_.members.size()),
      out_(view_, tasks_,
           {.message = [this](Instant then,
                              PeerMessage& message) { dispatch(then, self_, message); },
            .outcome =
                [this](Instant when, std::uint64_t operation, Done&& done) {
                  coordinator_.on_outcome(when, operation, std::move(done));
                }}),
      waits_(view_, out_),
      residency_(*executor_, view_.first_number()),
      replicator_(view_, *executor_, out_, waits_, residency_, settings_),
      freshness_(view_, *executor_, settings_.gossip_interval),
      replica_(view_, *executor_, out_, replicator_, freshness_, settings_),
      anti_entropy_(now, view_, *executor_, out_, settings_, random_.split()),
      collector_(view_, *executor_, out_, residency_, tasks_),
      forwarder_(view_, out_, tasks_,
                 [this](Instant then, const OwnedOp& op, const Origin& origin, Instant deadline) {
                   coordinator_.reroute(then, op, origin, deadline);
                 }),
      reads_(view_, *executor_, out_, collector_, freshness_, settings_),
      queries_(view_, *executor_, out_, collector_, freshness_, settings_),
      listing_(view_, *executor_, out_, settings_),
      key_counts_(view_, *executor_, out_, settings_),
      namespaces_(view_, *executor_, out_, settings_),
      prefixes_(view_, *executor_, out_),
      sweep_(now, view_, *executor_, replicator_, freshness_, residency_, settings_),
      coordinator_({view_, *executor_, out_, collector_, reads_, replicator_, waits_, forwarder_,
                    residency_, clock_, settings_},
                   random_.split()),
      handshake_(view_, *executor_, settings_.speaker),
      next_gossip_(now),
      next_clock_(now) {
  executor_->judge_dates_by(clock_);
  executor_->set_now(now);
  if (service_ == Service::reads) {
    on_storage_full(true);
  } else {
    handshake_.start();
  }
  adopt_pins(now);
  out_.release(seals_.durable());
  freshness_.on_durable(now, seals_.durable());
  if (service_ == Service::reads) identity_.settle_for_reads();
  identity_.settle(now);
  settle_clock(now);
}

// ---- clients ----

void NodeCore::on_ops(Instant now, ClientId client, std::span<const Op> ops, Effects& effects,
                      std::vector<AtOnce>* at_once) {
  out_.answer_at_once(client, at_once);
  executor_->set_now(now);
  on_ops_of(now, Origin::Kind::client, raw(client), ops);
  out_.answer_at_once(client, nullptr);
  in_batch_ = true;
  if (at_once == nullptr) finish_batch(now, effects);
}

void NodeCore::finish_batch(Instant now, Effects& effects) {
  if (in_batch_) finish_event(now, effects);
}

void NodeCore::on_ops_of(Instant now, Origin::Kind kind, std::uint64_t who,
                         std::span<const Op> ops) {
  if (ready()) {
    coordinator_.on_ops(now, kind, who, ops);
    return;
  }
  // A retry may have been applied before this start.
  const Code of_a_retry = view_.retired() ? Code::executor_gone : Code::in_doubt;
  const Code of_others =
      service_ == Service::reads && serves_reads() ? Code::storage_full : Code::unavailable;
  for (const Op& op : ops) {
    const bool sent_once = op.token.serial == Serial{} || op.kind == OpKind::decide;
    const Code code = sent_once ? of_others : of_a_retry;
    out_.answer(Origin{kind, who, op.id, {now, operation_of(op)}}, {0, code, state()});
  }
}

void NodeCore::on_read(Instant now, ClientId client, const Read& read, Effects& effects) {
  // Records that an earlier start wrote and did not sync may still be lost, so the answers of a
  // core that only reads are not complete.
  const ReadLevel level = reads_.level_of(read.level, read.keys);
  if (serves_reads() && (service_ == Service::all || level == ReadLevel::local)) {
    reads_.on_read(now, client, read, level);
  } else {
    const bool quorum = serves_reads() && level == ReadLevel::strong;
    const Code code = quorum ? Code::no_quorum : Code::unavailable;
    Values values{read.id, {}, {now, read_at(level)}};
    for (std::size_t i = 0; i < read.keys.size(); ++i)
      values.values.push_back({.code = code, .detail = state()});
    out_.answer(client, std::move(values));
  }
  finish_event(now, effects);
}

void NodeCore::on_query(Instant now, ClientId client, const Query& query, Effects& effects) {
  executor_->set_now(now);
  const ReadLevel level = reads_.level_of(query.level, query.keys);
  if (serves_reads() && (service_ == Service::all || level == ReadLevel::local)) {
    queries_.on_query(now, client, query, level);
  } else {
    const bool quorum = serves_reads() && level == ReadLevel::strong;
    out_.answer(client, QueryReply{.id = query.id,
                                   .code = quorum ? Code::no_quorum : Code::unavailable,
                                   .detail = state(),
                                   .asked = {now, read_at(level)}});
  }
  finish_event(now, effects);
}

void NodeCore::on_list(Instant now, ClientId client, const List& list, Effects& effects) {
  executor_->set_now(now);
  if (serves_reads()) {
    listing_.on_list(now, client, list);
  } else {
    out_.answer(client, Keys{list.id, {}, list.cursor, Code::unavailable, state()});
  }
  finish_event(now, effects);
}

void NodeCore::on_range(Instant now, ClientId client, const RangeRequest& request,
                        Effects& effects) {
  executor_->set_now(now);
  const ReadLevel level =
      request.level == ReadLevel::by_default ? reads_.level_of(request.key) : request.level;
  const bool serves = serves_reads() && (service_ == Service::all || level == ReadLevel::local);
  if (serves && executor_->date()) {
    request.kind == Kind::sum ? reads_.on_range(now, client, request, level)
                              : queries_.on_range(now, client, request, level);
  } else {
    out_.answer(client, RangeReply{.id = request.id,
                                   .code = Code::unavailable,
                                   .detail = serves ? clock_.doubt() : state(),
                                   .asked = {now, read_at(level)}});
  }
  finish_event(now, effects);
}

void NodeCore::on_count_keys(Instant now, ClientId client, const CountKeys& size,
                             Effects& effects) {
  if (serves_reads()) {
    key_counts_.on_count_keys(now, client, size);
  } else {
    out_.answer(client, KeyCount{size.id, 0, Code::unavailable, state()});
  }
  finish_event(now, effects);
}

void NodeCore::on_namespaces(Instant now, ClientId client, const NamespaceRequest& request,
                             Effects& effects) {
  const bool only_reads = request.action == NamespaceAction::list;
  if (only_reads ? serves_reads() : ready()) {
    namespaces_.on_request(now, clock_.at(now), client, request);
  } else {
    out_.answer(client,
                NamespaceReply{.id = request.id, .code = Code::unavailable, .detail = state()});
  }
  finish_event(now, effects);
}

void NodeCore::read_now(Instant now, std::span<const std::string_view> keys,
                        std::span<Value> values) const {
  if (serves_reads()) return reads_.read_now(now, keys, values);
  for (Value& value : values) value.shards = 0;
}

// ---- peers ----

bool NodeCore::dials(MemberIndex member) const {
  return config_.members[self_].id < config_.members[member].id;
}

void NodeCore::on_link_open(Instant now, LinkId link, std::optional<MemberIndex> dialed,
                            Effects& effects) {
  // A peer that saw the new name, or this start's, would pin it, and a crash may still undo it.
  if (identity_.abandoned() || service_ == Service::reads) {
    effects.closes.push_back({link, state()});
    return;
  }
  handshake_.on_open(now, link, dialed, effects);
  finish_event(now, effects);
}

void NodeCore::on_link_closed(Instant now, LinkId link, Effects& effects) {
  const auto member = handshake_.member(link);
  handshake_.on_closed(link);
  if (member) on_link_lost(*member);
  finish_event(now, effects);
}

void NodeCore::on_link_lost(MemberIndex member) {
  residency_.on_link_lost(member);
  anti_entropy_.on_link_lost(member);
  collector_.on_link_lost(member);
  forwarder_.on_link_lost(member);
  listing_.on_link_lost(member);
  key_counts_.on_link_lost(member);
  namespaces_.on_link_lost(member);
}

void NodeCore::on_link_frame(Instant now, LinkId link, const Frame& frame, Effects& effects) {
  if (identity_.abandoned()) return;
  executor_->set_now(now);
  Result<PeerMessage> message = decode_peer(frame.type, frame.payload, frame.version);
  if (message.ok()) {
    const Delta* const states = states_in(*message);
    if (states != nullptr && !is_sound(*states))
      message = Status(Code::protocol_error, "states: have a body that is none of its kind");
  }
  if (!message.ok()) {
    effects.closes.push_back({link, message.status().message()});
    return;
  }
  if (const auto* hello = std::get_if<Hello>(&*message)) {
    on_hello(now, link, *hello, effects);
  } else if (const auto* refusal = std::get_if<Refusal>(&*message)) {
    handshake_.on_refusal(link, *refusal, effects);
  } else if (const auto from = handshake_.member(link)) {
    if (frame.version != handshake_.versions()[*from]) {
      effects.closes.push_back({link, "a frame of another version than was agreed on"});
      return;
    }
    handshake_.on_heard(now, link);
    if (executor_->meta().pins.founded) dispatch(now, *from, *message);
  }
  seals_.hurry();
  finish_event(now, effects);
}

void NodeCore::on_hello(Instant now, LinkId link, const Hello& hello, Effects& effects) {
  const Handshake::Progress progress = handshake_.on_hello(now, link, hello, effects);
  if (progress.rolled_back) {
    identity_.abandon(random_.id<StoreId>());
    return;
  }
  for (const MemberIndex member : progress.ended) on_link_lost(member);
  if (progress.pins_changed) adopt_pins(now);
  if (view_.retired()) {
    part_from_all(effects);
    return;
  }
  if (progress.confirmed) identity_.on_confirmed(*progress.confirmed);
  on_handshake(now, progress);
}

void NodeCore::on_handshake(Instant now, const Handshake::Progress& progress) {
  if (progress.up) on_link_up(now, *progress.up);
}

void NodeCore::on_link_up(Instant now, MemberIndex member) {
  on_link_lost(member);  // it may have replaced one that never closed
  freshness_.on_link_up(member);
  replicator_.on_link_up(member);
  forwarder_.on_link_up(member);
  prefixes_.on_link_up(member);
  pull(now, member);
}

// Not before the peer agrees. Then its next heartbeat asks for it again.
void NodeCore::pull(Instant now, MemberIndex member) {
  if (handshake_.agrees(member)) anti_entropy_.urge(now, member, freshness_.lost_epoch(member));
}

// ---- pins ----

void NodeCore::adopt_pins(Instant now) {
  const std::vector<StoreId> before = view_.stores();
  if (!view_.adopt(executor_->meta())) return;
  collector_.on_fence_changed();
  replicator_.on_fence_changed();
  for (MemberIndex member = 0; member < before.size(); ++member) {
    if (member != self_ && before[member] != StoreId{} && before[member] != view_.pinned(member))
      on_replaced(now, member);
  }
}

// Members have states from the old store that this node did not get. They send them if asked,
// once they accept nothing more from it. (A store that owns nothing has executed nothing.)
void NodeCore::on_replaced(Instant now, MemberIndex member) {
  on_link_lost(member);
  if (config_.members[member].weight == 0) return;
  freshness_.on_replaced(member);
  for (MemberIndex other = 0; other < config_.members.size(); ++other) {
    if (other == self_ || !view_.up(other)) continue;
    anti_entropy_.on_link_lost(other);
    pull(now, other);
  }
}

// Another store was pinned in place of this one. Further changes here would count nowhere, so
// this node sends its peers nothing more.
void NodeCore::part_from_all(Effects& effects) {
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    if (member != self_ && view_.up(member)) on_link_lost(member);
  }
  handshake_.part(state(), effects);
}

// ---- peer messages ----

void NodeCore::dispatch(Instant now, MemberIndex from, PeerMessage& message, Turn turn) {
  QUIPU_CHECK(executor_->meta().pins.founded, "no counter has a place before the founding", from);
  // A held message has its room already.
  if (backpressure_.peers_wait() && turn == Turn::first && needs_room(message)) {
    backpressure_.on_dropped(from);
    return;
  }
  if (const Delta* const states = states_in(message)) handshake_.on_states(states->versions);
  if (!executor_->map().eviction().all_resident()) {
    Needs needs = needs_of(message);
    if (std::holds_alternative<Collect>(message)) look_at_other_kinds(needs);
    if (!residency_.resident(needs)) {
      const auto kept = std::make_shared<PeerMessage>(std::move(message));
      residency_.hold(std::move(needs), turn, from, [this, from, kept](Instant then) {
        dispatch(then, from, *kept, Turn::again);
      });
      return;
    }
  }
  std::visit([&](const auto& one) { handle(now, from, one); }, message);
}

// The answer may say that a key has a counter of another kind.
void NodeCore::look_at_other_kinds(Needs& needs) const {
  const ShardMap& map = executor_->map();
  for (std::size_t i = 0, asked = needs.shards.size(); i < asked; ++i) {
    for (ShardKey& other : map.under_other_kinds(needs.shards[i], map.place(needs.shards[i])))
      needs.shards.push_back(std::move(other));
  }
}

// These two are about a link that is not up yet: on_link_frame has handled them.
void NodeCore::handle(Instant, MemberIndex, const Hello&) {
  QUIPU_CHECK(false, "messages about a link are handled by the handshake");
}
void NodeCore::handle(Instant, MemberIndex, const Refusal&) {
  QUIPU_CHECK(false, "messages about a link are handled by the handshake");
}

void NodeCore::handle(Instant, MemberIndex from, const DeltaFrame& frame) {
  replicator_.on_frame(from, frame);
}

void NodeCore::handle(Instant now, MemberIndex from, const DeltaAck& ack) {
  replicator_.on_ack(from, ack);
  if (freshness_.due(from, replicator_)) send_heartbeat(now, from);
}

void NodeCore::handle(Instant now, MemberIndex from, const Heartbeat& beat) {
  const auto travelled = freshness_.on_heartbeat(now, from, beat);
  if (travelled && beat.wall != Wall{}) clock_.on_heartbeat(now, from, beat.wall, *travelled);
  view_.set_full(from, beat.full);
  if (beat.closing && !view_.closing(from)) told_to_close_.push_back(from);
  view_.set_closing(from, beat.closing);
  namespaces_.on_heartbeat(now, from, beat.namespaces);
  replicator_.on_pulled(from, beat.pulled_epoch);
  if (freshness_.needs_pull(from) &&
      !anti_entropy_.about_to_repair(from, freshness_.lost_epoch(from)))
    pull(now, from);
}

void NodeCore::handle(Instant now, MemberIndex from, const Forward& forward) {
  on_ops_of(now, Origin::Kind::member, from, forward.ops);
}

void NodeCore::handle(Instant, MemberIndex from, const Forwarded& answer) {
  forwarder_.on_forwarded(from, answer);
}

void NodeCore::handle(Instant now, MemberIndex from, const Collect& ask) {
  replica_.on_collect(now, from, ask);
}

void NodeCore::handle(Instant now, MemberIndex from, const Collected& answer) {
  collector_.on_collected(now, from, answer);
}

void NodeCore::handle(Instant, MemberIndex from, const WriteBack& write) {
  replica_.on_write_back(from, write);
}

void NodeCore::handle(Instant, MemberIndex from, const WrittenBack& answer) {
  collector_.on_written(from, answer);
}

void NodeCore::handle(Instant now, MemberIndex from, const Pull& pull) {
  sweep_.before_digests(now);
  replica_.on_pull(from, pull);
}

void NodeCore::handle(Instant now, MemberIndex from, const Pulled& answer) {
  sweep_.before_digests(now);
  anti_entropy_.on_pulled(now, from, answer);
}

void NodeCore::handle(Instant, MemberIndex from, const ListPart& ask) {
  listing_.on_list_part(from, ask);
}

void NodeCore::handle(Instant, MemberIndex from, const ListedPart& answer) {
  listing_.on_listed_part(from, answer);
}

void NodeCore::handle(Instant, MemberIndex from, const CountKeysPart& ask) {
  key_counts_.on_count_keys_part(from, ask);
}

void NodeCore::handle(Instant, MemberIndex from, const KeyCountPart& answer) {
  key_counts_.on_key_count_part(from, answer);
}

void NodeCore::handle(Instant, MemberIndex, const Namespaces& told) {
  namespaces_.on_definitions(told);
}

void NodeCore::handle(Instant, MemberIndex, const Prefixes& told) {
  executor_->merge_prefixes(told.bits);
}

// ---- the store, and time ----

void NodeCore::on_storage_full(bool full) {
  view_.set_full(self_, full);
  coordinator_.on_storage_full(full);
}

void NodeCore::on_durable(Instant now, Commit commit, Effects& effects) {
  QUIPU_CHECK(commit <= executor_->sealed(), "only what was sealed can be durable", commit,
              executor_->sealed());
  seals_.on_durable(commit);
  if (identity_.abandoned()) {
    effects.restart = seals_.all_durable();
    return;
  }
  waits_.on_durable(seals_.durable());
  out_.release(seals_.durable());
  effects.released = seals_.durable();
  freshness_.on_durable(now, seals_.durable());
  announce_closing(now);
  namespaces_.on_durable(seals_.durable());
  take_repaired();
  adopt_pins(now);
  finish_event(now, effects);
}

void NodeCore::take_repaired() {
  for (const AntiEntropy::Repaired& repaired : anti_entropy_.take_repaired(seals_.durable())) {
    freshness_.set_pulled(repaired.peer, repaired.epoch);
    view_.set_bootstrapping(repaired.peer, !repaired.whole);
    if (repaired.whole) identity_.on_filled_from(repaired.peer);
  }
}

void NodeCore::on_loaded(Instant now, const Loaded& loaded, Effects& effects) {
  if (identity_.abandoned()) return;
  executor_->set_now(now);
  residency_.on_loaded(now, loaded);
  finish_event(now, effects);
}

void NodeCore::on_tick(Instant now, Wall wall, Effects& effects) {
  clock_.set(now, wall);
  executor_->set_now(now);
  if (now >= next_clock_) next_clock_ = now + kClockInterval;
  const std::uint64_t checkpoints = executor_->checkpoint().finished();
  if (std::exchange(checkpoints_, checkpoints) != checkpoints) checkpointed_ = now;
  if (identity_.abandoned()) return;
  identity_.settle(now);
  if (now >= next_gossip_ && service_ == Service::reads) {
    next_gossip_ = now + settings_.gossip_interval;
    retry_what_is_due(now);
  } else if (now >= next_gossip_) {
    next_gossip_ = now + settings_.gossip_interval;
    // The outboxes must get changes that no answer waited for before they are flushed.
    if (ready() && namespaces_.agrees_with_peers())
      namespaces_.define_missing(std::exchange(settings_.namespaces, {}));
    if (seals_.store_is_idle() && executor_->has_open()) executor_->seal();
    take_records(effects);
    seals_.hurry();
    freshness_.on_gossip(now);
    gossip(now);
    handshake_.on_tick(now, settings_.link_timeout, effects);
  }
  finish_event(now, effects);
}

void NodeCore::gossip(Instant now) {
  QUIPU_CHECK(service_ == Service::all && !identity_.abandoned(),
              "only a core that does everything tells its peers of its states");
  replicator_.drop_settled_foreign();
  sweep_.on_gossip(now);
  replicator_.flush(Replicator::Flush::all);
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    if (member == self_ || !view_.up(member)) continue;
    prefixes_.tell(member);
    send_heartbeat(now, member);
  }
  retry_what_is_due(now);
}

void NodeCore::send_heartbeat(Instant now, MemberIndex to) {
  Heartbeat beat = freshness_.beat(now, to, replicator_);
  beat.closing = closes_from_.has_value();
  beat.namespaces = namespaces_.sum();
  beat.wall = clock_.shown(now);
  out_.send(to, beat);
}

void NodeCore::retry_what_is_due(Instant now) {
  collector_.on_tick(now);
  waits_.on_tick(now);
  forwarder_.on_tick(now);
  listing_.on_tick(now);
  key_counts_.on_tick(now);
  namespaces_.on_tick(now);
  if (ready()) coordinator_.on_tick(now);
  if (!serves_reads()) return;
  reads_.refresh(now);
  queries_.refresh(now);
}

// Three steps, so that no change is on its way to this node when its process ends, and no client
// must wait for its return to know:
//   its own changes are durable, and on their way to the other owners: the next home finds them
//   the other members hear that it takes no more of theirs, and what still comes is refused
//   they answer. A link keeps the order, so what they forwarded before is here by then
// (A client that names this node's store in a token may still send it something through them.)
void NodeCore::begin_closing(Instant now, Effects& effects) {
  seals_.begin_closing();
  if (!closes_after_ && service_ == Service::all && !identity_.abandoned()) {
    if (executor_->has_open()) executor_->seal();
    take_records(effects);  // the outboxes get them
    replicator_.flush(Replicator::Flush::all);
    closes_after_ = executor_->covering();
    announce_closing(now);
  }
  finish_event(now, effects);
}

void NodeCore::announce_closing(Instant now) {
  if (!closes_after_ || closes_from_ || seals_.durable() < *closes_after_) return;
  coordinator_.begin_closing();
  closes_from_.emplace();
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    closes_from_->push_back(freshness_.next_number(member));
    if (member != self_ && view_.up(member)) send_heartbeat(now, member);
  }
}

bool NodeCore::all_know_that_it_closes() const {
  if (!closes_after_) return true;
  if (!closes_from_) return false;
  for (MemberIndex member = 0; member < closes_from_->size(); ++member) {
    if (member != self_ && view_.up(member) &&
        freshness_.received(member) < (*closes_from_)[member])
      return false;
  }
  return true;
}

Instant NodeCore::deadline() const {
  if (identity_.abandoned()) return kNever;  // only its last write is outstanding
  return std::min({next_gossip_, next_clock_, anti_entropy_.deadline(), identity_.deadline()});
}

// ---- the end of every event ----

void NodeCore::settle_clock(Instant now) {
  if (!waits_for_clock_ || !serves_reads()) return;
  if (clock_wait_ends_ == kNever) clock_wait_ends_ = now + settings_.clock_wait;
  waits_for_clock_ = !clock_.compared() && now < clock_wait_ends_;
}

void NodeCore::finish_event(Instant now, Effects& effects) {
  in_batch_ = false;
  if (!identity_.abandoned()) {
    identity_.settle(now);
    settle_clock(now);
    // What a handshake waits for may be durable already.
    for (const Handshake::Progress& progress : handshake_.on_durable(seals_.durable(), effects))
      on_handshake(now, progress);
    anti_entropy_.on_tick(now);
    take_repaired();
    tasks_.run(now);
    executor_->take_outdated().for_each([this](const ShardRef& ref) { replicator_.offer(ref); });
  }
  if (service_ == Service::all) {
    seal_what_is_due(effects);
  } else {
    QUIPU_CHECK(!executor_->has_open(), "a core that only reads changes nothing");
  }
  weigh_backlog(effects);
  residency_.finish_event(seals_.durable(), effects);
  forwarder_.flush(now);
  // Behind all that was forwarded.
  for (const MemberIndex member : std::exchange(told_to_close_, {})) send_heartbeat(now, member);
  out_.flush(handshake_.links(), handshake_.versions(), effects);
}

void NodeCore::seal_what_is_due(Effects& effects) {
  seals_.seal_if_due(waits_.size() > 0 || out_.awaited() > executor_->sealed() ||
                     namespaces_.is_pending());
  take_records(effects);
  if (waits_.size() > 0) {  // the records above may hold what they wait for
    replicator_.flush(Replicator::Flush::urgent);
    take_records(effects);
  }
  seals_.finish_event();
}

void NodeCore::take_records(Effects& effects) {
  for (Sealed& sealed : executor_->take_sealed()) {
    QUIPU_CHECK(service_ == Service::all, "a core that only reads writes nothing", sealed.commit);
    replicator_.on_sealed(sealed);
    seals_.on_record(sealed);
    effects.writes.push_back(std::move(sealed));
  }
}

void NodeCore::weigh_backlog(Effects& effects) {
  const std::size_t backlog = seals_.unsynced_bytes() + executor_->open_bytes() +
                              out_.held_bytes() + residency_.held_bytes() +
                              executor_->map().eviction().dirty_excess();
  for (const MemberIndex member : backpressure_.weigh(backlog)) hear_again(member, effects);
  coordinator_.on_swamped(backpressure_.peers_wait());
}

// A new link brings everything again that was dropped for lack of room: frames in flight,
// unanswered questions, and a comparison of all differences. This node has no link to itself,
// and repeats its own questions.
void NodeCore::hear_again(MemberIndex member, Effects& effects) {
  if (member == self_) {
    collector_.on_link_lost(self_);
    listing_.on_link_lost(self_);
  }
  if (const auto link = handshake_.links()[member])
    effects.closes.push_back({*link, "there was no room for what it brought"});
}

bool NodeCore::quiet() const {
  return !executor_->has_open() && seals_.all_durable() && !out_.holding() && waits_.size() == 0 &&
         forwarder_.size() == 0 && reads_.size() == 0 && queries_.size() == 0 &&
         listing_.size() == 0 && key_counts_.size() == 0 && namespaces_.size() == 0 &&
         coordinator_.size() == 0 && residency_.quiet() && replicator_.drained() &&
         all_know_that_it_closes();
}

}  // namespace quipu
