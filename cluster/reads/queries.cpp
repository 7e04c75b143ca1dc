#include "cluster/reads/queries.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"
#include "protocol/varint.h"
#include "storage/kinds/kind.h"
#include "storage/kinds/parts.h"

namespace quipu {
namespace {

// What a counter's state takes while its query waits, about. Most bodies are smaller.
constexpr std::size_t kUsualBody = std::size_t{16} << 10;
constexpr std::size_t kUsualSlice = std::size_t{64} << 10;

constexpr const char* kTooLong =
    "the question is too long for so many counters: ask about fewer items, or fewer counters";
constexpr const char* kTooMuch =
    "these counters or windows are too large to be read together: ask about fewer";
constexpr const char* kCrowded = "too many queries wait for peers";
constexpr const char* kTooManyBodies =
    "this range is of more than 1,024 windows: ask for less time, or for steps that longer tiers "
    "have";

}  // namespace

void Queries::refuse(const Operation& operation, Code code, std::string why) {
  if (!operation.client) return;
  if (operation.range)
    return out_.answer(
        *operation.client,
        RangeReply{
            .id = operation.id, .code = code, .detail = std::move(why), .asked = operation.asked});
  out_.answer(
      *operation.client,
      QueryReply{
          .id = operation.id, .code = code, .detail = std::move(why), .asked = operation.asked});
}

void Queries::realize_by(Instant now, ShardState& state) const {
  if (const auto date = executor_.date(now)) realize(state, *date);
}

bool Queries::has_ended(Instant now, const Life& life) const {
  const std::optional<Wall> date = executor_.date(now);
  return date && is_over(life, *date);
}

void Queries::on_query(Instant now, ClientId client, const Query& query, ReadLevel level) {
  QUIPU_CHECK(level != ReadLevel::by_default, "a query has a level by now", query.id);
  Operation operation;
  operation.client = client;
  operation.id = query.id;
  operation.kind = query.kind;
  operation.level = level;
  operation.asked = {now, read_at(level)};
  operation.words = query.words;
  for (const std::string_view key : query.keys) {
    if (key.empty() || key.size() > kMaxKey)
      return refuse(operation, Code::invalid_argument, "a key has 1 to 512 bytes");
    operation.shards.push_back({std::string(key), shard_of(query.kind)});
  }
  if (operation.shards.empty())
    return refuse(operation, Code::invalid_argument, "a query names a key");
  // A kind may look for each word in each counter.
  if (query.words.size() * query.keys.size() > kMaxDecisionWords)
    return refuse(operation, Code::invalid_argument, kTooLong);
  begin(now, std::move(operation), query.timeout_ms);
}

void Queries::on_range(Instant now, ClientId client, const RangeRequest& request, ReadLevel level) {
  Operation operation;
  operation.client = client;
  operation.id = request.id;
  operation.kind = request.kind;
  operation.level = level;
  operation.asked = {now, read_at(level)};
  operation.range.emplace();
  if (request.key.empty() || request.key.size() > kMaxKey)
    return refuse(operation, Code::invalid_argument, "a key has 1 to 512 bytes");
  operation.key = request.key;
  auto plan =
      plan_range(executor_.namespaces().definition_of(request.key), request, executor_.wall(now));
  if (!plan.ok()) return refuse(operation, plan.status().code(), plan.status().detail());
  if (plan->parts.size() > kMaxBodyRange)
    return refuse(operation, Code::invalid_argument, kTooManyBodies);
  const ShardRef counter{request.key, shard_of(request.kind)};
  operation.shards.push_back({std::string(request.key), counter.shard});
  for (const RangePlan::Part& part : plan->parts)
    operation.shards.push_back(window_at(counter, part.tier, part.at));
  operation.range = std::move(*plan);
  begin(now, std::move(operation), request.timeout_ms);
}

void Queries::begin(Instant now, Operation operation, std::uint32_t timeout_ms) {
  std::vector<ShardKey>& all = operation.shards;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (may_be_cached(operation)) {
    operation.cached = AskedQuestion{all, operation.words};
    if (const QuestionAnswer* const answer = look_in_cache(now, *operation.cached)) {
      operation.source = ReadSource::cache;
      return tell(now, operation, *answer);
    }
  }
  operation.deadline = settings_.deadline(now, timeout_ms);
  operation.as_of = operation.range ? freshness_.durable_until(now) : now;
  if (answer_at_once(now, operation)) return;
  std::vector<ShardKey> unknown = look(now, operation.shards, operation);
  if (operation.shards.size() > 1 && operation.bytes > settings_.pending_read_bytes)
    return refuse(operation, Code::invalid_argument, kTooMuch);
  if (unknown.empty()) return go_on(now, std::move(operation));
  if (!ask(operation, now, std::move(unknown))) refuse(operation, Code::overloaded, kCrowded);
}

// Where all of it is in memory, as mostly: without a copy of the bodies.
bool Queries::answer_at_once(Instant now, Operation& operation) {
  if (operation.level == ReadLevel::strong || operation.range) return false;
  std::vector<Seen> all;
  std::size_t bytes = 0;
  for (const ShardKey& shard : operation.shards) {
    const auto seen = see(now, shard, operation);
    if (!seen) return false;
    for (const std::string_view body : seen->bodies) bytes += body.size();
    all.push_back(*seen);
  }
  const SliceRules* const slices = rules_of(operation.kind).slices;
  const auto in_slices = [&](const Seen& one) {
    return !slices->asked(one.bodies, operation.words).empty();
  };
  if (slices != nullptr && std::ranges::any_of(all, in_slices)) return false;
  if (all.size() > 1 && bytes > settings_.pending_read_bytes) return false;  // it is refused
  tell(now, operation, answer_of(now, operation, all));
  return true;
}

void Queries::go_on(Instant now, Operation operation) {
  operation.slices = slices_of(operation);
  operation.bytes = 0;
  for (const auto& [shard, state] : operation.held) operation.bytes += bytes_of(state.parts);
  // One counter is always answered: it has at most 64 slices.
  if (operation.shards.size() > 1 &&
      operation.slices.size() * kUsualSlice > settings_.pending_read_bytes)
    return refuse(operation, Code::invalid_argument, kTooMuch);
  std::vector<ShardKey> unknown = look(now, operation.slices, operation);
  if (operation.shards.size() > 1 && operation.bytes > settings_.pending_read_bytes)
    return refuse(operation, Code::invalid_argument, kTooMuch);
  if (unknown.empty()) return answer(now, operation);
  if (!ask(operation, now, std::move(unknown))) refuse(operation, Code::overloaded, kCrowded);
}

std::vector<ShardKey> Queries::slices_of(const Operation& operation) const {
  const SliceRules* const rules = rules_of(operation.kind).slices;
  std::vector<ShardKey> slices;
  if (rules == nullptr) return slices;
  for (const auto& [first, state] : operation.held) {
    for (const ShardIndex slice : rules->asked(bodies_of(state.parts), operation.words))
      slices.push_back(slice_at(first, slice));
  }
  return slices;
}

void Queries::answer(Instant now, Operation& operation) {
  if (operation.range) return answer_range(now, operation);
  for (const ShardKey& slice : operation.slices) {
    ShardState& first = operation.held[{slice.key, first_of(slice.shard)}];
    if (operation.level != ReadLevel::strong) realize_by(now, first);
    keep_lives(operation.held[slice], first);
  }
  if (operation.client) tell(now, operation, answer_of(now, operation, seen_in(operation)));
}

bool Queries::may_be_cached(const Operation& operation) const {
  return operation.level == ReadLevel::local && !operation.range &&
         std::ranges::none_of(operation.shards, [this](const ShardKey& shard) {
           return is_answered_by_this_node(shard);
         });
}

// Through one of its reactors. Then the answer must show what was just added through this node.
bool Queries::is_answered_by_this_node(const ShardKey& shard) const {
  const auto owner = view_.live_owner(executor_.map().place(shard).partition());
  return owner && (*owner == view_.self() ||
                   std::ranges::find(settings_.same_clock, *owner) != settings_.same_clock.end());
}

const QuestionAnswer* Queries::look_in_cache(Instant now, const AskedQuestion& question) {
  const QuestionAnswer* const answer = cache_.read(now, question);
  if (answer == nullptr || answer->ends == Wall{}) return answer;
  const std::optional<Wall> date = executor_.date(now);
  return date && answer->ends <= *date ? nullptr : answer;
}

std::vector<ShardKey> Queries::look(Instant now, const std::vector<ShardKey>& shards,
                                    Operation& operation) const {
  std::vector<ShardKey> unknown;
  for (const ShardKey& shard : shards) {
    if (operation.shards.size() > 1 && operation.bytes > settings_.pending_read_bytes) break;
    const bool held = operation.level != ReadLevel::strong && take_held(now, shard, operation);
    if (!held) unknown.push_back(shard);
  }
  return unknown;
}

// Where none waits, even one about the most counters may.
bool Queries::ask(Operation& operation, Instant now, std::vector<ShardKey> unknown) {
  const std::size_t bytes =
      operation.bytes + unknown.size() * (kMaxName + kUsualBody) + operation.words.size();
  const bool crowded = !operations_.empty() && bytes_ + bytes > settings_.pending_read_bytes;
  if (crowded || operations_.size() >= settings_.pending_operations) return false;
  operation.bytes = bytes;
  bytes_ += bytes;
  operation.source = ReadSource::owner;
  const auto mode =
      operation.level == ReadLevel::strong ? Collector::Mode::majority : Collector::Mode::one;
  const std::uint64_t number = next_++;
  const std::optional<AskedQuestion> question = operation.cached;
  const Instant deadline = operation.deadline;
  operations_.emplace(number, std::move(operation));
  const auto then = [this, number](Instant when, const Collector::Finished& finished) {
    on_finished(when, number, finished);
  };
  if (question) {
    if (const std::optional<RoundId> round = cache_.asking(*question)) {
      collector_.join(*round, then);
      return true;
    }
  }
  const RoundId round = collector_.collect(now, mode, std::move(unknown), deadline, then);
  if (question) cache_.on_asked(*question, round);
  return true;
}

// Without room to wait, what is cached grows old, and a later read asks.
void Queries::refresh(Instant now) {
  for (AskedQuestion& question : cache_.take_due()) {
    Operation operation;
    operation.kind = kind_of(question.shards.front().shard);
    operation.level = ReadLevel::local;
    operation.words = question.words;
    operation.shards = question.shards;
    operation.cached = std::move(question);
    if (!may_be_cached(operation)) continue;
    operation.deadline = now + settings_.request_timeout;
    operation.as_of = now;
    std::vector<ShardKey> unknown = look(now, operation.shards, operation);
    if (!ask(operation, now, std::move(unknown))) return;
  }
}

std::optional<Queries::Seen> Queries::see(Instant now, const ShardKey& shard,
                                          Operation& operation) const {
  const ShardMap& map = executor_.map();
  const Placement placement = map.place(shard);
  const bool by_home = changes_at_home(shard.shard);
  if (view_.answers_first(placement.partition(), by_home) != view_.self()) return std::nullopt;
  std::vector<ShardKey> all = map.under_other_kinds(shard, placement);
  all.push_back(shard);
  const bool resident = std::ranges::all_of(
      all, [&](const ShardKey& one) { return map.resident(map.place(one), one); });
  if (!resident) return std::nullopt;
  Seen seen;
  if (const Entry* const entry = map.find(placement, shard); entry != nullptr) {
    seen.life = entry->life();
    if (entry->has_bodies()) {
      seen.bodies = entry->bodies();
      seen.derived = entry->last_derived();
    }
  }
  if (seen.bodies.empty() && !is_window(shard.shard)) {
    if (const auto other = executor_.other_kind(shard, placement))
      operation.other = {0, kind_of(other->first.shard), other->ends};
  }
  const Age age = freshness_.age(now);
  operation.age_unknown = operation.age_unknown || !age.age;
  operation.as_of = std::min(operation.as_of, now - age.age.value_or(Duration::zero()));
  operation.complete = operation.complete && age.complete && view_.in_quorum(placement.partition());
  return seen;
}

bool Queries::take_held(Instant now, const ShardKey& shard, Operation& operation) const {
  if (!see(now, shard, operation)) return false;
  ShardState& state = operation.held[shard];
  executor_.map().read(executor_.map().place(shard), shard, state);
  operation.bytes += bytes_of(state.parts);
  return true;
}

std::vector<Queries::Seen> Queries::seen_in(const Operation& operation) {
  std::vector<Seen> all;
  for (const auto& [shard, state] : operation.held)
    all.push_back({.life = state.life, .bodies = bodies_of(state.parts)});
  return all;
}

void Queries::on_finished(Instant now, std::uint64_t number, const Collector::Finished& finished) {
  const auto at = operations_.find(number);
  QUIPU_CHECK(at != operations_.end(), "a query stays until its round has ended", number);
  Operation operation = std::move(at->second);
  operations_.erase(at);
  QUIPU_CHECK(bytes_ >= operation.bytes, "an ended query's bytes were counted", bytes_);
  bytes_ -= operation.bytes;
  // Not, if another reader of the same question was called before.
  const bool is_asking = operation.cached && cache_.asking(*operation.cached) == finished.round;
  if (Status taken = take(now, finished, operation); !taken.ok()) {
    if (is_asking) cache_.on_unanswered(*operation.cached);
    return refuse(operation, taken.code(), taken.detail());
  }
  if (operation.range || !operation.slices.empty()) return answer(now, operation);
  // The answer of a counter in slices is not cached: it takes a second round.
  if (!slices_of(operation).empty()) {
    if (is_asking) cache_.on_unanswered(*operation.cached);
    operation.cached.reset();
    if (operation.client) go_on(now, std::move(operation));
    return;
  }
  const QuestionAnswer answer = answer_of(now, operation, seen_in(operation));
  if (is_asking) cache_.on_answered(now, *operation.cached, answer);
  if (operation.client) tell(now, operation, answer);
}

// Not ok: what the round brought is no answer.
Status Queries::take(Instant now, const Collector::Finished& finished, Operation& operation) const {
  if (finished.code != Code::ok) return {finished.code, "the owners did not answer in time"};
  operation.age_unknown = operation.age_unknown || finished.age_ms == kUnknownAge;
  const std::uint32_t age_ms = operation.age_unknown ? 0 : finished.age_ms;
  operation.as_of = std::min(operation.as_of, finished.asked - std::chrono::milliseconds(age_ms));
  operation.complete = operation.complete && finished.complete;
  ShardState own;
  for (std::size_t i = 0; i < finished.shards.size(); ++i) {
    const ShardKey& shard = finished.shards[i];
    if (finished.missing[i]) return {Code::unavailable, "no owner of the counter is reachable"};
    ShardState state = finished.states[i];
    // Changes executed here for lack of an owner count, too, unless a majority is required.
    if (operation.level != ReadLevel::strong &&
        executor_.map().read(executor_.map().place(shard), shard, own)) {
      realize_both(state, own, executor_.date(now));
      merge(state, as_entry(shard, own));
    }
    // A window of another kind may have outlived its counter.
    if (state.parts.empty() && !is_window(shard.shard) && finished.others[i])
      operation.other = finished.others[i];
    operation.held[shard] = std::move(state);
  }
  return {};
}

// A strong query reports no end but those that were realized when the states were collected: see
// Reads::value().
QuestionAnswer Queries::answer_of(Instant now, const Operation& operation,
                                  const std::vector<Seen>& seen) const {
  QuestionAnswer answer{.as_of = operation.as_of,
                        .age_unknown = operation.age_unknown,
                        .complete = operation.complete};
  const auto note_end = [&answer](Wall ends) {
    if (ends != Wall{} && (answer.ends == Wall{} || ends < answer.ends)) answer.ends = ends;
  };
  if (operation.other) {
    note_end(operation.other->ends);
    answer.code = Code::wrong_type;
    answer.detail =
        std::string("a key has a counter of the kind ") + name_of(operation.other->kind);
    return answer;
  }
  std::vector<std::string_view> bodies;
  DerivedPlace derived;  // from the last one
  for (const Seen& one : seen) {
    if (operation.level != ReadLevel::strong && has_ended(now, one.life)) continue;
    bodies.insert(bodies.end(), one.bodies.begin(), one.bodies.end());
    if (!one.bodies.empty()) derived = one.derived;
    if (in_force(one.life)) note_end(one.life.at);
  }
  answer.exists = !bodies.empty();
  const KindRules& rules = rules_of(operation.kind);
  answer.code = bodies.size() == 1
                    ? answer_alone(rules, bodies.front(), derived, operation.words, answer.reply)
                    : rules.answer(bodies, operation.words, answer.reply);
  if (answer.code != Code::ok) answer.detail = "the question is none of its kind";
  if (answer.reply.size() > kMaxDecisionReply) {
    answer.reply.clear();
    answer.code = Code::invalid_argument;
    answer.detail = kTooLong;
  }
  return answer;
}

void Queries::tell(Instant now, const Operation& operation, const QuestionAnswer& answer) {
  if (answer.code == Code::wrong_type) return refuse(operation, answer.code, answer.detail);
  sources_.count(operation.source);
  QueryReply reply{.id = operation.id,
                   .code = answer.code,
                   .detail = answer.detail,
                   .reply = answer.reply,
                   .exists = answer.exists,
                   .asked = operation.asked};
  if (operation.shards.size() == 1 && answer.ends != Wall{}) {
    const Wall::duration left = answer.ends - executor_.wall(now);
    reply.expires_in_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(1, left.count()));
  }
  const bool strong = operation.level == ReadLevel::strong;
  reply.complete = strong || (answer.complete && is_fresh(now, answer.as_of));
  if (!strong) reply.age_ms = answer.age_unknown ? kUnknownAge : age_in_ms(now - answer.as_of);
  out_.answer(*operation.client, std::move(reply));
}

// One number for each step.
void Queries::answer_range(Instant now, const Operation& operation) {
  const RangePlan& plan = *operation.range;
  std::vector<std::vector<std::string_view>> bodies(plan.counts);
  const ShardRef counter{operation.key, shard_of(operation.kind)};
  for (const RangePlan::Part& part : plan.parts) {
    const auto held = operation.held.find(window_at(counter, part.tier, part.at));
    if (held == operation.held.end()) continue;
    for (const Part& one : held->second.parts) bodies[part.count].push_back(one.body);
  }
  RangeReply reply{
      .id = operation.id, .begin = plan.begin, .step = plan.step, .asked = operation.asked};
  for (const auto& of_step : bodies) {
    std::string number;
    const Code code = rules_of(operation.kind).answer(of_step, {}, number);
    std::string_view rest = number;
    const auto count = take_varint(rest);
    if (code != Code::ok || !count)
      return refuse(operation, Code::invalid_argument, "the kind has no number for a range");
    reply.counts.push_back(static_cast<std::int64_t>(*count));
  }
  if (operation.other && counted_nothing(reply.counts))
    return refuse(operation, Code::wrong_type, kRangeOfOtherKind);
  const bool whole = operation.level == ReadLevel::strong ||
                     (operation.complete && is_fresh(now, operation.as_of));
  reply.complete = plan.covered && whole;
  if (!plan.parts.empty() && !operation.age_unknown)
    reply.settled_until = settled_until(executor_, settings_, operation.key, now, operation.as_of);
  sources_.count(operation.source);
  out_.answer(*operation.client, std::move(reply));
}

}  // namespace quipu
