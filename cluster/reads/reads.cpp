#include "cluster/reads/reads.h"

#include <algorithm>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr const char* kNoRoom = "too many reads wait for peers, or this one is of too many shards";

// As old as when it was asked for: the answer may have waited for a disk since.
Piece from_round(const Collector::Finished& finished, std::size_t i, const ShardState& state) {
  Piece piece{total(state.cells), state.shard_count, state.usable_shards, finished.missing[i]};
  piece.age_unknown = finished.age_ms == kUnknownAge;
  piece.as_of = finished.asked - std::chrono::milliseconds(piece.age_unknown ? 0 : finished.age_ms);
  piece.complete = finished.complete && !piece.missing;
  if (in_force(state.life)) piece.ends = state.life.at;
  if (!piece.total.exists) piece.other = finished.others[i];
  return piece;
}

// The key of a sum that does not exist has a counter of another kind.
void tell_kind(Value& value, const OtherKind& other) {
  value.code = Code::wrong_type;
  value.detail = std::string("the key has a counter of the kind ") + name_of(other.kind);
  value.kind = other.kind;
  value.exists = true;
  value.ends = other.ends;
}

}  // namespace

Reads::Reads(const View& view, const Executor& executor, Outbound& out, Collector& collector,
             const Freshness& freshness, const NodeSettings& settings)
    : view_(view),
      executor_(executor),
      out_(out),
      collector_(collector),
      freshness_(freshness),
      settings_(settings),
      cache_(settings.rollup_shards, settings.gossip_interval) {}

void Reads::refuse(const Read& read, ClientId client, Asked asked, Code code, const char* why) {
  Values values{read.id, {}, asked};
  values.values.resize(read.keys.size());
  for (Value& value : values.values) {
    value.code = code;
    value.detail = why;
  }
  out_.answer(client, std::move(values));
}

bool Reads::has_ended(Instant now, Wall ends) const {
  if (ends == Wall{}) return false;
  const std::optional<Wall> date = executor_.date(now);
  return date && ends <= *date;
}

// At least 1, although the clock may say that it is over.
std::uint64_t Reads::expires_in(Instant now, Wall ends) const {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, (ends - executor_.wall(now)).count()));
}

// The sum of a counter's shards, piece_of(shard) each. A strong read reports no age, and no end but
// those that were realized when the states were collected (Collector::take_answer): a majority has
// heard of no later one, and a node with a slower clock would show the counter again.
template <class PieceOf>
Value Reads::value(Instant now, ReadLevel level, ShardIndex shards, PieceOf piece_of) const {
  QUIPU_CHECK(shards >= 1 && shards <= kMaxShards, "a counter has 1 to 1024 shards", shards);
  Value value;
  value.shards = shards;
  value.complete = true;
  Total sum;
  for (ShardIndex shard = 0; shard < shards; ++shard) {
    const Piece& piece = piece_of(shard);
    if (level == ReadLevel::strong || !has_ended(now, piece.ends)) {
      sum += piece.total;
      if (piece.ends != Wall{}) {
        value.expires_in_ms = expires_in(now, piece.ends);
        value.ends = piece.ends;
      }
    }
    if (level == ReadLevel::strong) continue;
    value.complete = value.complete && piece.complete && !piece.missing &&
                     now - piece.as_of <= kCompleteIntervals * settings_.gossip_interval;
    const std::uint32_t age =
        piece.age_unknown || piece.missing ? kUnknownAge : age_in_ms(now - piece.as_of);
    value.age_ms = std::max(value.age_ms, age);
  }
  value.exists = sum.exists;
  if (const Piece& first = piece_of(0);
      !sum.exists && shards == 1 && first.other && !has_ended(now, first.other->ends)) {
    tell_kind(value, *first.other);
    if (value.ends != Wall{}) value.expires_in_ms = expires_in(now, value.ends);
    return value;
  }
  const auto narrowed = narrow(sum.sum);
  if (!narrowed) {
    value.code = Code::out_of_range;
    value.detail = "the counter's total is outside the signed 64-bit range";
    return value;
  }
  value.value = *narrowed;
  return value;
}

void Reads::read_now(Instant now, std::span<const std::string_view> keys,
                     std::span<Value> values) const {
  QUIPU_CHECK(keys.size() == values.size(), "each key has room for its value", keys.size(),
              values.size());
  const ShardMap& map = executor_.map();
  // All are as old as memory's view of a counter that does not exist.
  const Piece nothing = held(now, freshness_.age(now), nullptr);
  const Value absent =
      value(now, ReadLevel::local, 1, [&](ShardIndex) -> const Piece& { return nothing; });
  const auto shard = [&](std::size_t i) { return ShardRef{keys[i], 0}; };
  map.for_each_fetched(keys.size(), shard, [&](std::size_t i, const Placement& placement) {
    Value& told = values[i];
    told.shards = 0;
    if (keys[i].empty() || keys[i].size() > kMaxKey) return;
    if (!answers_itself(placement) || !map.resident(placement, shard(i))) return;
    const Entry* const entry = map.find(placement, shard(i));
    Wall ends{};
    bool ended = false;
    if (entry != nullptr && entry->has(Entry::kHasShardCount)) {
      if (entry->is_spread()) return;
      const Life life = entry->life();
      if (in_force(life)) ends = life.at;
      ended = has_ended(now, ends);
    }
    const Total total = entry == nullptr || ended ? Total{} : entry->total();
    if (!total.exists && map.kinds(placement.partition()) != 0) return;
    const auto sum = narrow(total.sum);
    if (!sum) return;
    told = absent;
    told.value = *sum;
    told.exists = total.exists;
    if (ends != Wall{} && !ended) {
      told.expires_in_ms = expires_in(now, ends);
      told.ends = ends;
    }
    told.complete = absent.complete && view_.in_quorum(placement.partition());
  });
  if (!executor_.namespaces().by_operation()) return;
  for (std::size_t i = 0; i < keys.size(); ++i)
    values[i].ack = executor_.namespaces().policy_of(keys[i]).ack;
}

ReadLevel Reads::level_of(std::string_view key) const {
  return executor_.namespaces().policy_of(key).read.value_or(ReadLevel::local);
}

ReadLevel Reads::level_of(ReadLevel level, std::span<const std::string_view> keys) const {
  if (level != ReadLevel::by_default) return level;
  ReadLevel strongest = ReadLevel::local;
  if (!executor_.namespaces().by_operation()) return strongest;
  for (const std::string_view key : keys) strongest = std::max(strongest, level_of(key));
  return strongest;
}

bool Reads::answer_now(Instant now, ClientId client, const Read& read) {
  Values values{read.id, std::vector<Value>(read.keys.size()), {now, read_at(ReadLevel::local)}};
  read_now(now, read.keys, values.values);
  const bool all = std::all_of(values.values.begin(), values.values.end(),
                               [](const Value& value) { return value.shards > 0; });
  if (all) {
    sources_.count(ReadSource::memory);
    out_.answer(client, std::move(values));
  }
  return all;
}

void Reads::on_read(Instant now, ClientId client, const Read& read, ReadLevel level) {
  QUIPU_CHECK(level != ReadLevel::by_default, "a read has a level by now", read.id);
  if (level == ReadLevel::local && answer_now(now, client, read)) return;
  if (operations_.size() >= settings_.pending_operations) {
    refuse(read, client, {now, read_at(level)}, Code::overloaded, kNoRoom);
    return;
  }
  const auto at = begin(now, client, read.id, level, read.timeout_ms);
  Operation& operation = at->second;
  operation.refused.resize(read.keys.size());
  for (std::size_t i = 0; i < read.keys.size(); ++i) {
    operation.keys.emplace_back(read.keys[i]);
    if (read.keys[i].empty() || read.keys[i].size() > kMaxKey) {
      operation.refused[i].code = Code::invalid_argument;
      operation.refused[i].detail = "a key has 1 to 512 bytes";
    }
  }
  advance(now, at);
}

Reads::Operations::iterator Reads::begin(Instant now, ClientId client, std::uint64_t id,
                                         ReadLevel level, std::uint32_t timeout_ms) {
  const auto at = operations_.emplace(next_++, Operation{}).first;
  at->second.client = client;
  at->second.id = id;
  at->second.level = level;
  at->second.asked = {now, read_at(level)};
  at->second.deadline = settings_.deadline(now, timeout_ms);
  return at;
}

// ---- ranges ----

namespace {

RangeReply refused(std::uint64_t id, Code code, std::string why, Asked asked = {}) {
  return {.id = id, .code = code, .detail = std::move(why), .asked = asked};
}

constexpr const char* kTooManyShards =
    "the counter has so many shards that this range is of more than 10,000 windows: ask for longer "
    "steps, or for less time";

}  // namespace

void Reads::on_range(Instant now, ClientId client, const RangeRequest& request, ReadLevel level) {
  const Asked asked{now, read_at(level)};
  if (request.key.empty() || request.key.size() > kMaxKey) {
    return out_.answer(
        client, refused(request.id, Code::invalid_argument, "a key has 1 to 512 bytes", asked));
  }
  const auto plan =
      plan_range(executor_.namespaces().definition_of(request.key), request, executor_.wall(now));
  if (!plan.ok())
    return out_.answer(client,
                       refused(request.id, plan.status().code(), plan.status().detail(), asked));
  if (level == ReadLevel::local && answer_range_now(now, client, request, *plan)) return;
  if (operations_.size() >= settings_.pending_operations)
    return out_.answer(client, refused(request.id, Code::overloaded, kNoRoom, asked));
  // The windows of other owners are not kept in the cache: there are many, and few are asked for
  // again.
  const ReadLevel done_at = level == ReadLevel::local ? ReadLevel::fresh : level;
  const auto at = begin(now, client, request.id, done_at, request.timeout_ms);
  at->second.asked = asked;
  at->second.refused.resize(1);
  at->second.keys.emplace_back(request.key);
  at->second.range = *plan;
  advance(now, at);
}

// From this node's memory, if it has all of it, and the key no counter of another kind.
bool Reads::answer_range_now(Instant now, ClientId client, const RangeRequest& request,
                             const RangePlan& plan) {
  const ShardMap& map = executor_.map();
  const ShardRef first{request.key, 0};
  const Placement placement = map.place(first);
  if (!answers_itself(placement) || !map.resident(placement, first)) return false;
  const Entry* const counter = map.find(placement, first);
  if (counter != nullptr && counter->is_spread()) return false;
  if (executor_.other_kind(first, placement)) return false;
  Piece piece = held(now, freshness_.age(now), nullptr);
  piece.complete = piece.complete && view_.in_quorum(placement.partition());
  bool resident = true;
  RangeReply reply = range(
      now, request.key, ReadLevel::local, 1, plan, [&](const ShardKey& window) -> const Piece& {
        const Placement place(placement, map.placement_key(), window);
        resident = resident && map.resident(place, window);
        const Entry* const entry = resident ? map.find(place, window) : nullptr;
        piece.total = entry == nullptr ? Total{} : entry->total();
        return piece;
      });
  if (!resident) return false;
  sources_.count(ReadSource::memory);
  reply.id = request.id;
  reply.asked = {now, read_at(ReadLevel::local)};
  out_.answer(client, std::move(reply));
  return true;
}

// The answer, with piece_of(window) for each window of each shard.
template <class PieceOf>
RangeReply Reads::range(Instant now, std::string_view key, ReadLevel level, ShardIndex shards,
                        const RangePlan& plan, PieceOf piece_of) const {
  RangeReply reply{.begin = plan.begin, .step = plan.step, .counts = {}, .complete = plan.covered};
  std::vector<Wide> sums(plan.counts);
  Instant as_of = freshness_.durable_until(now);
  bool known = !plan.parts.empty();
  for (const RangePlan::Part& part : plan.parts) {
    for (ShardIndex shard = 0; shard < shards; ++shard) {
      const Piece& piece = piece_of(window_at({key, shard}, part.tier, part.at));
      sums[part.count] += piece.total.sum;
      known = known && !piece.age_unknown && !piece.missing;
      as_of = std::min(as_of, piece.as_of);
      const bool fresh = now - piece.as_of <= kCompleteIntervals * settings_.gossip_interval;
      reply.complete = reply.complete && !piece.missing &&
                       (level == ReadLevel::strong || (piece.complete && fresh));
    }
  }
  for (const Wide sum : sums) {
    const auto count = narrow(sum);
    if (!count) return refused(0, Code::out_of_range, "a count is outside the signed 64-bit range");
    reply.counts.push_back(*count);
  }
  if (known) reply.settled_until = settled_until(executor_, settings_, key, now, as_of);
  return reply;
}

// ---- operations ----

// A shard's key is in the operation, in its round and in the question to each owner.
std::size_t Reads::cost(const Operation& operation) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < operation.keys.size(); ++i) {
    const std::size_t shards = operation.rest && operation.refused[i].code == Code::ok
                                   ? operation.pieces.at({operation.keys[i], 0}).shard_count
                                   : 1;
    const std::size_t windows = operation.range ? operation.range->parts.size() : 0;
    bytes += shards * (1 + windows) * (operation.keys[i].size() + kWindowSuffix + sizeof(Piece));
  }
  return bytes;
}

// Answers from memory take room only for this moment, so that waiting reads never prevent
// them.
bool Reads::may_wait(Operation& operation) {
  const std::size_t whole = cost(operation);
  QUIPU_CHECK(whole >= operation.bytes, "a read takes no less room as it goes on", whole,
              operation.bytes);
  const std::size_t bytes = whole - operation.bytes;
  if (bytes_ + bytes > settings_.pending_read_bytes) return false;
  operation.bytes += bytes;
  bytes_ += bytes;
  return true;
}

void Reads::erase(Operations::iterator at) {
  QUIPU_CHECK(at->second.bytes <= bytes_, "an ended operation's bytes were counted",
              at->second.bytes, bytes_);
  bytes_ -= at->second.bytes;
  operations_.erase(at);
  QUIPU_CHECK(!operations_.empty() || bytes_ == 0, "where no read waits, no bytes are taken",
              bytes_);
}

void Reads::advance(Instant now, Operations::iterator at) {
  QUIPU_CHECK(at != operations_.end(), "only a waiting read continues");
  Operation& operation = at->second;
  while (operation.failed == Code::ok && operation.waiting.empty()) {
    if (cost(operation) > settings_.pending_read_bytes) {
      operation.failed = Code::overloaded;
      break;
    }
    if (!gather(now, at->first, operation)) break;  // waits for rounds
    if (std::exchange(operation.rest, true)) {
      finish(operation, now);
      erase(at);
      return;
    }
    if (operation.range) {
      const std::size_t shards = operation.pieces.at({operation.keys[0], 0}).shard_count;
      if (shards * operation.range->parts.size() > kMaxRange)
        operation.failed = Code::invalid_argument;
    }
  }
  if (operation.failed == Code::ok) return;
  if (operation.range) {
    const char* const why = operation.failed == Code::overloaded         ? kNoRoom
                            : operation.failed == Code::invalid_argument ? kTooManyShards
                                                                         : "";
    out_.answer(operation.client, refused(operation.id, operation.failed, why, operation.asked));
    return erase(at);
  }
  Values values{operation.id, {}, operation.asked};
  for (Value& refused : operation.refused) {
    if (refused.code == Code::ok) {
      refused.code = operation.failed;
      if (operation.failed == Code::overloaded) refused.detail = kNoRoom;
    }
    values.values.push_back(std::move(refused));
  }
  out_.answer(operation.client, std::move(values));
  erase(at);
}

void Reads::finish(Operation& operation, Instant now) {
  sources_.count(operation.source);
  if (!operation.range) {
    Values values{operation.id, {}, operation.asked};
    for (std::size_t i = 0; i < operation.keys.size(); ++i)
      values.values.push_back(value(now, operation, i));
    return out_.answer(operation.client, std::move(values));
  }
  const std::string& key = operation.keys[0];
  const Piece& first = operation.pieces.at({key, 0});
  const ShardIndex shards = first.shard_count;
  RangeReply reply =
      range(now, key, operation.level, shards, *operation.range,
            [&](const ShardKey& window) -> const Piece& { return operation.pieces.at(window); });
  const bool is_other = !first.total.exists && shards == 1 && first.other &&
                        !has_ended(now, first.other->ends) && reply.code == Code::ok;
  if (is_other && counted_nothing(reply.counts))
    reply = refused(0, Code::wrong_type, kRangeOfOtherKind);
  reply.id = operation.id;
  reply.asked = operation.asked;
  out_.answer(operation.client, std::move(reply));
}

std::vector<ShardKey> Reads::wanted(const Operation& operation) const {
  std::vector<ShardKey> shards;
  const auto want_windows = [&](const ShardRef& counter) {
    if (!operation.range) return;
    for (const RangePlan::Part& part : operation.range->parts)
      shards.push_back(window_at(counter, part.tier, part.at));
  };
  for (std::size_t i = 0; i < operation.keys.size(); ++i) {
    if (operation.refused[i].code != Code::ok) continue;
    const std::string& key = operation.keys[i];
    if (!operation.rest) {
      shards.push_back({key, 0});
      want_windows({key, 0});
      continue;
    }
    const ShardIndex count = operation.pieces.at({key, 0}).shard_count;
    for (ShardIndex shard = 1; shard < count; ++shard) {
      if (!operation.range) shards.push_back({key, shard});
      want_windows({key, shard});
    }
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  return shards;
}

// The entry with this node's state of the shard, if any. The caller checks whether the copy is
// in sync, since many keys may share that check.
Piece Reads::held(Instant now, const Age& age, const Entry* entry) const {
  Piece piece;
  if (entry != nullptr) {
    piece.total = entry->total();
    const Life life = entry->life();
    if (in_force(life)) piece.ends = life.at;
    if (entry->is_spread()) {
      ShardState state;
      executor_.map().index().unpack(*entry, state);
      piece.shard_count = state.shard_count;
      piece.usable_shards = state.usable_shards;
    }
  }
  piece.age_unknown = !age.age.has_value();
  piece.as_of = now - age.age.value_or(Duration::zero());
  piece.complete = age.complete;
  return piece;
}

std::optional<Piece> Reads::at_hand(Instant now, Operation& operation, const ShardKey& shard) {
  if (operation.level == ReadLevel::strong) return std::nullopt;
  const ShardMap& map = executor_.map();
  const Placement placement = map.place(shard);
  if (answers_itself(placement)) {
    // For states in the store alone it asks itself, like another owner.
    if (!map.resident(placement, shard)) return std::nullopt;
    const std::vector<ShardKey> others = map.under_other_kinds(shard, placement);
    if (std::ranges::any_of(
            others, [&](const ShardKey& one) { return !map.resident(map.place(one), one); }))
      return std::nullopt;
    Piece piece = held(now, freshness_.age(now), map.find(placement, shard));
    if (!piece.total.exists && !others.empty()) {
      if (const auto other = executor_.other_kind(shard, placement))
        piece.other = {0, kind_of(other->first.shard), other->ends};
    }
    piece.complete = piece.complete && view_.in_quorum(placement.partition());
    return piece;
  }
  if (operation.level == ReadLevel::fresh) return std::nullopt;
  const Piece* const cached = cache_.read(now, shard);
  if (cached != nullptr) operation.source = std::max(operation.source, ReadSource::cache);
  return cached == nullptr ? std::nullopt : std::optional(*cached);
}

// True if all pieces of this phase are there. Otherwise it waits for rounds, or has failed.
bool Reads::gather(Instant now, std::uint64_t number, Operation& operation) {
  std::vector<ShardKey> unknown;
  std::set<RoundId> shared;
  for (ShardKey& shard : wanted(operation)) {
    if (operation.pieces.contains(shard)) continue;
    if (auto piece = at_hand(now, operation, shard)) {
      operation.pieces.emplace(std::move(shard), *piece);
    } else if (const auto round = cache_.asking(shard);
               round && operation.level == ReadLevel::local &&
               !answers_itself(executor_.map().place(shard))) {
      shared.insert(*round);
    } else {
      unknown.push_back(std::move(shard));
    }
  }
  if (unknown.empty() && shared.empty()) return true;
  operation.source = ReadSource::owner;
  if (!may_wait(operation)) {
    operation.failed = Code::overloaded;
    return false;
  }
  for (const RoundId round : shared) waiters_.emplace(round, number);
  operation.waiting = std::move(shared);
  if (!unknown.empty()) ask(now, number, operation, unknown);
  return false;
}

void Reads::ask(Instant now, std::uint64_t number, Operation& operation,
                const std::vector<ShardKey>& shards) {
  const auto mode =
      operation.level == ReadLevel::strong ? Collector::Mode::majority : Collector::Mode::one;
  const RoundId round = collect(now, mode, shards, operation.deadline);
  operation.waiting.insert(round);
  waiters_.emplace(round, number);
  if (operation.level != ReadLevel::local) return;
  for (const ShardKey& shard : shards) {
    if (!answers_itself(executor_.map().place(shard))) cache_.on_asked(shard, round);
  }
}

// Then each read asks again: it must show what was just added here.
bool Reads::answers_itself(const Placement& shard) const {
  return view_.live_owner(shard.partition()) == view_.self();
}

RoundId Reads::collect(Instant now, Collector::Mode mode, std::vector<ShardKey> shards,
                       Instant deadline) {
  return collector_.collect(now, mode, std::move(shards), deadline,
                            [this, mode](Instant then, const Collector::Finished& finished) {
                              on_finished(then, mode, finished);
                            });
}

void Reads::on_finished(Instant now, Collector::Mode mode, const Collector::Finished& finished) {
  std::vector<std::uint64_t> numbers;  // none: the round refreshes the cache
  const auto [begin, end] = waiters_.equal_range(finished.round);
  for (auto at = begin; at != end; ++at) {
    QUIPU_CHECK(operations_.contains(at->second), "a read stays until its rounds have ended",
                at->second, finished.round);
    numbers.push_back(at->second);
  }
  waiters_.erase(begin, end);

  ShardState own;
  for (std::size_t i = 0; i < finished.shards.size(); ++i) {
    const ShardKey& shard = finished.shards[i];
    ShardState state = finished.states[i];
    // Adds executed here for lack of an owner count, too, unless a majority is required.
    const Placement placement = executor_.map().place(shard);
    if (mode == Collector::Mode::one && executor_.map().read(placement, shard, own)) {
      realize_both(state, own, executor_.date(now));
      merge(state, as_entry(shard, own));
    }
    const Piece piece = from_round(finished, i, state);
    if (cache_.asking(shard) == finished.round) cache_.on_answered(now, shard, piece);
    for (const std::uint64_t number : numbers) operations_.at(number).pieces.emplace(shard, piece);
  }
  for (const std::uint64_t number : numbers) {
    const auto at = operations_.find(number);
    at->second.waiting.erase(finished.round);
    if (finished.code != Code::ok) at->second.failed = finished.code;
    advance(now, at);
  }
}

void Reads::refresh(Instant now) {
  std::vector<ShardKey> due = cache_.take_due();
  if (due.empty()) return;
  const std::vector<ShardKey> shards = due;
  const RoundId round =
      collect(now, Collector::Mode::one, std::move(due), now + settings_.request_timeout);
  for (const ShardKey& shard : shards) cache_.on_asked(shard, round);
}

std::optional<ShardIndex> Reads::usable(Instant now, std::string_view key) {
  const ShardKey shard{std::string(key), 0};
  const Placement placement = executor_.map().place(shard);
  if (!executor_.map().resident(placement, shard)) return std::nullopt;
  if (view_.owned(placement.partition())) return executor_.map().usable(placement, shard);
  const Piece* const piece = cache_.read(now, shard);
  if (piece == nullptr || piece->missing) return std::nullopt;
  return piece->usable_shards;
}

void Reads::ask_usable(Instant now, std::string_view key, Instant deadline, Collector::Then then) {
  const ShardKey first{std::string(key), 0};
  std::optional<RoundId> round = cache_.asking(first);
  if (!round) {
    round = collect(now, Collector::Mode::one, {first}, deadline);
    cache_.on_asked(first, *round);
  }
  collector_.join(*round, std::move(then));
}

Value Reads::value(Instant now, const Operation& operation, std::size_t key) const {
  if (operation.refused[key].code != Code::ok) return operation.refused[key];
  const auto piece_of = [&](ShardIndex shard) -> const Piece& {
    return operation.pieces.at({operation.keys[key], shard});
  };
  Value told = value(now, operation.level, piece_of(0).shard_count, piece_of);
  const NamespaceTable& namespaces = executor_.namespaces();
  if (namespaces.by_operation()) told.ack = namespaces.policy_of(operation.keys[key]).ack;
  return told;
}

}  // namespace quipu
