#include "cluster/node_core.h"

#include <algorithm>
#include <cassert>

#include "cluster/replication/state_size.h"

namespace quipu {
namespace {

// Of an open record that nobody waits for: beyond, sealing it would take too long at once.
constexpr std::size_t kPatientBytes = std::size_t{64} << 10;

// Whether it brings states, or asks for what is said only after a sync.
bool needs_room(const PeerMessage& message) {
  return std::holds_alternative<DeltaFrame>(message) ||
         std::holds_alternative<WriteBack>(message) || std::holds_alternative<Pulled>(message) ||
         std::holds_alternative<Collect>(message) || std::holds_alternative<Pull>(message) ||
         std::holds_alternative<ListPart>(message);
}

// Null: it brings none.
const Delta* states_in(const PeerMessage& message) {
  if (const auto* frame = std::get_if<DeltaFrame>(&message)) return &frame->delta;
  if (const auto* collected = std::get_if<Collected>(&message)) return &collected->states;
  if (const auto* write = std::get_if<WriteBack>(&message)) return &write->states;
  if (const auto* pulled = std::get_if<Pulled>(&message)) return &pulled->states;
  return nullptr;
}

}  // namespace

ExecutorOptions executor_options(const ClusterConfig& config, MemberIndex self,
                                 const NodeSettings& settings) {
  ExecutorOptions options;
  options.tokens = settings.tokens;
  options.checkpoint = settings.checkpoint;
  options.memory = {settings.memory_limit, config.owners.owned_by(self)};
  options.has_peers = config.members.size() > 1;
  return options;
}

NodeCore::NodeCore(Instant now, ClusterConfig config, MemberIndex self, NodeSettings settings,
                   std::unique_ptr<Executor> executor, Random random, Service service)
    : config_(std::move(config)),
      self_(self),
      settings_(settings),
      service_(service),
      executor_(std::move(executor)),
      random_(random),
      view_(config_, self, executor_->meta().lineage.back().boot),
      out_(view_),
      waits_(view_, out_),
      residency_(*executor_, view_.first_number()),
      replicator_(view_, *executor_, out_, waits_, residency_, settings_),
      freshness_(view_, *executor_, settings_.gossip_interval),
      replica_(view_, *executor_, out_, replicator_, freshness_, settings_),
      anti_entropy_(now, view_, *executor_, out_, settings_, random_.split()),
      collector_(view_, *executor_, out_),
      forwarder_(view_, out_),
      reads_(view_, *executor_, out_, collector_, freshness_, settings_),
      listing_(view_, *executor_, out_, settings_),
      sizing_(view_, *executor_, out_, settings_),
      coordinator_({view_, *executor_, out_, collector_, reads_, replicator_, waits_, forwarder_,
                    residency_, settings_},
                   random_.split()),
      greeting_(view_, *executor_),
      settle_by_(now + settings_.confirm_wait),
      confirmed_(config_.members.size()),
      unheard_(config_.members.size()),
      durable_(executor_->sealed()),
      next_gossip_(now) {
  confirmed_[self_] = true;
  if (service_ == Service::reads) {
    on_storage_full(true);
  } else {
    greeting_.start();
  }
  adopt_pins(now);
  out_.release(durable_);
  settle(now);
}

// ---- clients ----

void NodeCore::on_ops(Instant now, ClientId client, std::span<const Op> ops, Effects& effects,
                      std::vector<AtOnce>* at_once) {
  out_.answer_at_once(client, at_once);
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
  const Code of_others = serves_reads() ? Code::storage_full : Code::unavailable;
  for (const Op& op : ops) {
    const Code code = op.token.serial == Serial{} ? of_others : of_a_retry;
    out_.answer(Origin{kind, who, op.id}, {0, code, state()});
  }
}

void NodeCore::on_read(Instant now, ClientId client, const Read& read, Effects& effects) {
  // What an earlier start wrote and did not sync may still be lost, so a core that only
  // reads vouches for nothing.
  if (serves_reads() && (service_ == Service::all || read.level == ReadLevel::local)) {
    reads_.on_read(now, client, read);
  } else {
    const bool quorum = serves_reads() && read.level == ReadLevel::strong;
    const Code code = quorum ? Code::no_quorum : Code::unavailable;
    Values values{read.id, {}};
    for (std::size_t i = 0; i < read.keys.size(); ++i) values.values.push_back({code, state()});
    out_.answer(client, std::move(values));
  }
  finish_event(now, effects);
}

void NodeCore::on_list(Instant now, ClientId client, const List& list, Effects& effects) {
  if (serves_reads()) {
    listing_.on_list(now, client, list);
  } else {
    out_.answer(client, Keys{list.id, {}, list.cursor, Code::unavailable, state()});
  }
  finish_event(now, effects);
}

void NodeCore::on_size(Instant now, ClientId client, const Size& size, Effects& effects) {
  if (serves_reads()) {
    sizing_.on_size(now, client, size);
  } else {
    out_.answer(client, Sized{size.id, 0, Code::unavailable, state()});
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
  // Whoever heard the new name, or this start's, would note it, and a crash may yet undo it.
  if (abandoned_ || service_ == Service::reads) {
    effects.closes.push_back({link, state()});
    return;
  }
  greeting_.on_open(now, link, dialed, effects);
  finish_event(now, effects);
}

void NodeCore::on_link_closed(Instant now, LinkId link, Effects& effects) {
  const auto member = greeting_.member(link);
  greeting_.on_closed(link);
  if (member) on_link_lost(*member);
  finish_event(now, effects);
}

// What was pulled over it says nothing of who answers over the next one.
void NodeCore::on_link_lost(MemberIndex member) {
  residency_.on_link_lost(member);
  forget_pulled(member);
  collector_.on_link_lost(member);
  forwarder_.on_link_lost(member);
  listing_.on_link_lost(member);
  sizing_.on_link_lost(member);
}

void NodeCore::on_link_frame(Instant now, LinkId link, FrameType type, Payload payload,
                             Effects& effects) {
  if (abandoned_) return;
  Result<PeerMessage> message = decode_peer(type, payload);
  if (!message.ok()) {
    effects.closes.push_back({link, message.status().message()});
    return;
  }
  if (const auto* hello = std::get_if<Hello>(&*message)) {
    on_hello(now, link, *hello, effects);
  } else if (const auto* refusal = std::get_if<Refusal>(&*message)) {
    greeting_.on_refusal(link, *refusal, effects);
  } else if (const auto from = greeting_.member(link)) {
    greeting_.on_heard(now, link);
    if (executor_->meta().pins.founded) dispatch(now, *from, *message);
  }
  seal_due_ = true;
  finish_event(now, effects);
}

void NodeCore::on_hello(Instant now, LinkId link, const Hello& hello, Effects& effects) {
  const Greeting::Met met = greeting_.on_hello(now, link, hello, effects);
  if (met.rolled_back) {
    abandon_identity();
    return;
  }
  if (met.pins_changed) adopt_pins(now);
  if (view_.retired()) {
    retire(effects);
    return;
  }
  if (met.confirmed) confirm(*met.confirmed);
  on_met(now, met);
}

void NodeCore::on_met(Instant now, const Greeting::Met& met) {
  if (met.up) on_link_up(now, *met.up);
}

void NodeCore::on_link_up(Instant now, MemberIndex member) {
  on_link_lost(member);  // it may have replaced one that never closed
  freshness_.on_link_up(member);
  replicator_.on_link_up(member);
  forwarder_.on_link_up(now, member);
  pull(now, member);
}

void NodeCore::dispatch(Instant now, MemberIndex from, PeerMessage& message, Turn turn) {
  // What was held has its room already.
  if (swamped_ && turn == Turn::first && needs_room(message)) {
    unheard_[from] = true;
    return;
  }
  if (const Delta* const states = states_in(message)) greeting_.on_states(states->sightings);
  Residency::Needs needs = Residency::needs(message, executor_->map());
  if (!residency_.resident(needs)) {
    const auto kept = std::make_shared<PeerMessage>(std::move(message));
    residency_.hold(std::move(needs), turn, from,
                    [this, from, kept](Instant then) { dispatch(then, from, *kept, Turn::again); });
    return;
  }
  std::visit(
      [&](auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, DeltaFrame>) replicator_.on_frame(from, one);
        if constexpr (std::is_same_v<T, DeltaAck>) on_ack(now, from, one);
        if constexpr (std::is_same_v<T, Beat>) on_beat(now, from, one);
        if constexpr (std::is_same_v<T, Forward>)
          on_ops_of(now, Origin::Kind::member, from, one.ops);
        if constexpr (std::is_same_v<T, Forwarded>) forwarder_.on_forwarded(now, from, one);
        if constexpr (std::is_same_v<T, Collect>) replica_.on_collect(now, from, one);
        if constexpr (std::is_same_v<T, Collected>) collector_.on_collected(from, one);
        if constexpr (std::is_same_v<T, WriteBack>) replica_.on_write_back(from, one);
        if constexpr (std::is_same_v<T, WrittenBack>) collector_.on_written(from, one);
        if constexpr (std::is_same_v<T, Pull>) replica_.on_pull(from, one);
        if constexpr (std::is_same_v<T, Pulled>) anti_entropy_.on_pulled(now, from, one);
        if constexpr (std::is_same_v<T, ListPart>) listing_.on_list_part(from, one);
        if constexpr (std::is_same_v<T, ListedPart>) listing_.on_listed_part(from, one);
        if constexpr (std::is_same_v<T, SizePart>) sizing_.on_size_part(from, one);
        if constexpr (std::is_same_v<T, SizedPart>) sizing_.on_sized_part(from, one);
      },
      message);
}

void NodeCore::on_ack(Instant now, MemberIndex from, const DeltaAck& ack) {
  replicator_.on_ack(from, ack);
  if (freshness_.due(from, replicator_)) out_.send(from, freshness_.beat(now, from, replicator_));
}

void NodeCore::on_beat(Instant now, MemberIndex from, const Beat& beat) {
  freshness_.on_beat(from, beat);
  view_.set_full(from, beat.full);
  replicator_.on_pulled(from, beat.pulled_epoch);
  const std::uint64_t lost = freshness_.lost_epoch(from);
  const bool on_its_way =
      std::any_of(repairing_.begin(), repairing_.end(), [&](const AntiEntropy::Repaired& repaired) {
        return repaired.peer == from && repaired.epoch == lost;
      });
  if (freshness_.needs_pull(from) && !on_its_way) pull(now, from);
}

// ---- the store, and time ----

void NodeCore::on_storage_full(bool full) {
  view_.set_full(self_, full);
  coordinator_.on_storage_full(full);
}

void NodeCore::on_durable(Instant now, Commit commit, Effects& effects) {
  durable_ = std::max(durable_, commit);
  while (!unsynced_.empty() && unsynced_.front().first <= durable_) {
    unsynced_bytes_ -= unsynced_.front().second;
    unsynced_.pop_front();
  }
  if (abandoned_) {
    effects.restart = executor_->sealed() <= durable_;
    return;
  }
  waits_.on_durable(durable_);
  out_.release(durable_);
  effects.released = durable_;
  for (const AntiEntropy::Repaired& repaired : std::exchange(repairing_, {})) {
    if (repaired.commit <= durable_) {
      on_repaired(repaired);
    } else {
      repairing_.push_back(repaired);
    }
  }
  adopt_pins(now);
  finish_event(now, effects);
}

void NodeCore::on_loaded(Instant now, const Loaded& loaded, Effects& effects) {
  if (abandoned_) return;
  residency_.on_loaded(now, loaded);
  finish_event(now, effects);
}

void NodeCore::on_tick(Instant now, Effects& effects) {
  if (abandoned_) return;
  settle(now);
  if (now >= next_gossip_ && service_ == Service::reads) {
    next_gossip_ = now + settings_.gossip_interval;
    retry_what_is_due(now);
  } else if (now >= next_gossip_) {
    next_gossip_ = now + settings_.gossip_interval;
    // The outboxes must know of what nobody waited for before they are flushed.
    if (idle() && executor_->has_open()) executor_->seal();
    take_records(effects);
    seal_due_ = true;
    gossip(now);
    greeting_.on_tick(now, settings_.link_timeout, effects);
  }
  finish_event(now, effects);
}

void NodeCore::gossip(Instant now) {
  replicator_.drop_settled_foreign();
  replicator_.flush(Replicator::Flush::all);
  for (MemberIndex member = 0; member < config_.members.size(); ++member) {
    if (member != self_ && view_.up(member))
      out_.send(member, freshness_.beat(now, member, replicator_));
  }
  retry_what_is_due(now);
}

void NodeCore::retry_what_is_due(Instant now) {
  collector_.on_tick(now);
  waits_.on_tick(now);
  forwarder_.on_tick(now);
  listing_.on_tick(now);
  sizing_.on_tick(now);
  if (serves_reads()) reads_.refresh(now);
}

void NodeCore::begin_closing(Instant now, Effects& effects) {
  closing_ = true;
  finish_event(now, effects);
}

Instant NodeCore::deadline() const {
  if (abandoned_) return kNever;  // all that is waited for is its last write
  Instant earliest = std::min(next_gossip_, anti_entropy_.deadline());
  if (!settled_ && executor_->meta().pins.founded) earliest = std::min(earliest, settle_by_);
  return earliest;
}

// ---- the end of every event ----

void NodeCore::finish_event(Instant now, Effects& effects) {
  in_batch_ = false;
  if (!abandoned_) {
    settle(now);
    // What a greeting waits for may have been durable all along.
    for (const Greeting::Met& met : greeting_.on_durable(durable_, effects)) on_met(now, met);
    anti_entropy_.on_tick(now);
    for (const AntiEntropy::Repaired& repaired : anti_entropy_.take_repaired()) {
      if (repaired.commit <= durable_) {
        on_repaired(repaired);
      } else {
        repairing_.push_back(repaired);
      }
    }
    route_internal(now);
  }
  if (service_ == Service::all) {
    seal_what_is_due(effects);
  } else {
    assert(!executor_->has_open() && "a core that only reads has changed something");
  }
  weigh_backlog(effects);
  residency_.finish_event(durable_, effects);
  out_.flush(greeting_.links(), effects);
}

// What the parts have for each other; ends, since each pass uses something up.
void NodeCore::route_internal(Instant now) {
  for (bool busy = true; busy;) {
    busy = false;
    for (PeerMessage& mail : out_.take_mail()) {
      busy = true;
      dispatch(now, self_, mail);
    }
    for (const Forwarder::Unsent& unsent : forwarder_.take_unsent()) {
      busy = true;
      coordinator_.reroute(now, unsent);
    }
    for (Collector::Finished& finished : collector_.take_finished()) {
      busy = true;
      route_finished(now, finished, Turn::first);
    }
    for (Outbound::Internal& internal : out_.take_internal()) {
      busy = true;
      coordinator_.on_internal(now, std::move(internal));
    }
  }
}

void NodeCore::route_finished(Instant now, Collector::Finished& finished, Turn turn) {
  if (!executor_->map().all_resident()) {
    // What this node holds of them is merged, and may be newer than what a peer said.
    Residency::Needs needs{finished.shards, {}, 0};
    for (std::size_t i = 0; i < finished.shards.size(); ++i)
      needs.bytes += state_bytes(finished.shards[i], finished.states[i]);
    if (!residency_.resident(needs)) {
      const auto kept = std::make_shared<Collector::Finished>(std::move(finished));
      residency_.hold(std::move(needs), turn, std::nullopt,
                      [this, kept](Instant then) { route_finished(then, *kept, Turn::again); });
      return;
    }
  }
  coordinator_.on_finished(now, finished);
  reads_.on_finished(now, finished);
}

// A record is sealed when the store is idle, so that it holds all that came while
// the last one was written; whoever must show state seals before. What clients change at
// `memory`, for which nobody waits, takes no sync of its own while it is little: it goes
// along with what others wait for, is sealed with what a peer brings, or at the gossip.
bool NodeCore::open_may_wait() const {
  return !seal_due_ && !closing_ && waits_.size() == 0 && out_.awaited() <= executor_->sealed() &&
         executor_->open_bytes() < kPatientBytes;
}

void NodeCore::seal_what_is_due(Effects& effects) {
  const bool due = executor_->has_open() && !open_may_wait();
  if (idle() && (due || (executor_->checkpointing() && !closing_))) executor_->seal();
  take_records(effects);
  if (waits_.size() > 0) {  // the records above may hold what they wait for
    replicator_.flush(Replicator::Flush::urgent);
    take_records(effects);
  }
  if (!executor_->has_open()) seal_due_ = false;
}

// Clients wait first. With them silent, only a disk that hangs lets the backlog grow
// to where peers are not listened to either: their acks empty our outboxes, and a
// link that is closed for want of room costs a repair.
void NodeCore::weigh_backlog(Effects& effects) {
  const std::size_t backlog = unsynced_bytes_ + executor_->open_bytes() + out_.held_bytes() +
                              residency_.held_bytes() + executor_->map().dirty_excess();
  const auto above = [backlog](bool already, std::size_t limit) {
    return backlog > (already ? limit / 2 : limit);
  };
  const bool was_swamped = std::exchange(swamped_, above(swamped_, settings_.backlog_bytes));
  paused_ = above(paused_, settings_.unsynced_bytes);
  coordinator_.on_swamped(swamped_);
  if (was_swamped && !swamped_) hear_again(effects);
}

// A new link brings again what was dropped for want of room: frames in flight,
// questions without an answer, and a look at all that differs. This node has none to
// itself, and asks itself again.
void NodeCore::hear_again(Effects& effects) {
  for (MemberIndex member = 0; member < unheard_.size(); ++member) {
    if (!unheard_[member]) continue;
    unheard_[member] = false;
    if (member == self_) {
      collector_.on_link_lost(self_);
      listing_.on_link_lost(self_);
    }
    if (const auto link = greeting_.links()[member])
      effects.closes.push_back({*link, "there was no room for what it brought"});
  }
}

void NodeCore::take_records(Effects& effects) {
  for (Sealed& sealed : executor_->take_sealed()) {
    replicator_.on_sealed(sealed);
    const std::size_t bytes = sealed.batch.bytes();
    unsynced_.emplace_back(sealed.commit, bytes);
    unsynced_bytes_ += bytes;
    effects.writes.push_back(std::move(sealed));
  }
}

bool NodeCore::quiet() const {
  return !executor_->has_open() && executor_->sealed() <= durable_ && !out_.holding() &&
         waits_.size() == 0 && forwarder_.size() == 0 && reads_.size() == 0 &&
         listing_.size() == 0 && sizing_.size() == 0 && coordinator_.size() == 0 &&
         residency_.quiet() && replicator_.drained();
}

}  // namespace quipu
