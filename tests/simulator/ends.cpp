#include "tests/simulator/ends.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "protocol/frequency_words.h"
#include "protocol/item_words.h"
#include "protocol/shard_number.h"
#include "protocol/state_codec.h"
#include "storage/kinds/distinct.h"
#include "storage/kinds/parts.h"
#include "storage/stored_keys.h"
#include "tests/simulator/holders.h"
#include "tests/simulator/items.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kEndsDraws = 0x656e, kDecisionDraws = 0x6463, kEndedKindDraws = 0x6565,
                        kAgainDraws = 0x6c76, kSlicedLifeDraws = 0x736c;
constexpr std::uint64_t kMostPauseMs = 40;
constexpr std::size_t kMostKeys = 12, kMostAdds = 30, kMostAgain = 24;
constexpr std::uint32_t kTimeoutMs = 1000;
// An op that got no answer may be carried out for so long, by whichever node it has reached.
constexpr Duration kLatest = seconds(12);
// Births of bodies are rounded down to this. So what a node adds that has not heard of an end may
// count into the life that ended, for so much longer.
constexpr Duration kBirthStep = seconds(2);
constexpr std::array<Duration, 4> kTtls{milliseconds(400), seconds(1), milliseconds(2500),
                                        seconds(5)};

constexpr std::array kKinds{Kind::distinct, Kind::frequency, Kind::top};
constexpr std::string_view kItem = "item";  // of counters that count items

// Each has a register of its own, at precision 14.
std::string element(std::size_t digit) {
  const unsigned rank = 1 + static_cast<unsigned>(digit % 12);
  const std::array<std::uint64_t, 1> hash{std::uint64_t{digit * 97} << 50 | std::uint64_t{1}
                                                                                << (50 - rank)};
  return distinct::words_of(hash);
}

std::string words_for(Kind kind, std::size_t digit) {
  if (kind == Kind::distinct) return element(digit);
  const std::array<Item, 1> item{{{std::string(kItem), std::uint64_t{1} << (2 * digit)}}};
  return quipu::words_to_add(kind, kItemSalt, item);
}

std::string question_of(Kind kind) {
  if (kind == Kind::distinct) return std::string(distinct::kUnionQuestion);
  const std::array<std::string, 1> item{std::string(kItem)};
  return question_about(kind, kItemSalt, item);
}

}  // namespace

EndsClients::EndsClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                         const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      options_(options),
      random_(options.seed ^ kEndsDraws),
      decisions_(options.seed ^ kDecisionDraws),
      kind_draws_(options.seed ^ kEndedKindDraws),
      again_draws_(options.seed ^ kAgainDraws),
      slice_draws_(options.seed ^ kSlicedLifeDraws),
      begins_again_(options.has(Knob::elements) && again_draws_.below(2) == 0),
      // See SimNode::check_clock and the nemesis. Between two ticks the time follows the monotonic
      // clock, which may jump, for up to a second.
      apart_(milliseconds(options.has(Knob::wrong_walls)   ? 6500
                          : options.has(Knob::clock_jumps) ? 1800
                                                           : 700)),
      actors_(nodes, ledger) {}

// ---- while it runs ----

void EndsClients::work() {
  if (stopped_) return;
  act();
  shared_.time.in(milliseconds(1 + random_.below(kMostPauseMs)), [this] { work(); });
}

void EndsClients::act() {
  if (const std::string who = actors_.who_gave_up(); !who.empty())
    fail(Invariant::actor_is_kept, who);
  if (begins_again_ && again_draws_.below(4) == 0) open_again();
  const bool opens = keys_.size() < 3 || (keys_.size() < kMostKeys && random_.below(40) == 0);
  if (opens) {
    Key key;
    key.name = std::string(kEndsPrefix) + std::to_string(keys_.size());
    if (random_.below(3) != 0) key.ttl = kTtls[random_.below(kTtls.size())];
    key.burst_ends = shared_.time.now() + milliseconds(100 + random_.below(1200));
    if (options_.has(Knob::elements) && kind_draws_.below(2) == 0)
      key.kind = kKinds[kind_draws_.below(kKinds.size())];
    keys_.push_back(std::move(key));
  }
  const std::size_t at = keys_.size() - 1 - random_.below(std::min<std::size_t>(keys_.size(), 5));
  Key& key = keys_[at];
  const Instant now = shared_.time.now();
  if (now > key.burst_ends && now > key.next_burst && key.lives()) {
    // The next burst comes when each add of the last one has surely ended, or soon.
    const Duration pause = random_.below(2) == 0 ? key.ttl + apart_for(key) : key.ttl;
    key.next_burst = now + pause;
    key.burst_ends = key.next_burst + milliseconds(100 + random_.below(1000));
  }
  const bool adds = (now <= key.burst_ends && now >= key.next_burst) || !key.lives();
  const std::uint64_t draw = random_.below(10);
  if (adds && draw < 4) return add(at);
  if (!key.lives() && draw < 6) return change(at);
  read(at);
}

void EndsClients::add(std::size_t at) {
  Key& key = keys_[at];
  if (key.adds.size() >= kMostAdds) return;
  SimNode* asked = nodes_[random_.below(nodes_.size())];
  const bool decides = decisions_.below(2) == 0 && key.is_sum();
  if (decides) asked = not_owner_of(key, asked);
  SimNode& node = *asked;
  if (!node.running()) return;
  const std::size_t digit = key.adds.size();
  const Instant begun = shared_.time.now();
  key.adds.push_back({begun, begun + kLatest});
  Op op{.key = key.name, .amount = std::int64_t{1} << (2 * digit), .kind = OpKind::add};
  op.ack = Ack{static_cast<std::uint8_t>(random_.below(3))};
  op.timeout_ms = kTimeoutMs;
  op.ttl_ms = static_cast<std::uint64_t>(key.ttl / milliseconds(1));
  ++shared_.trace.operations["adds to counters that end"];
  std::string words;
  if (!key.is_sum()) {
    words = words_for(key.kind, digit);
    op.amount = 0;
    op.words = words;
    op.kind = OpKind::apply;
    op.shard = shard_of(key.kind);
    if (kind_draws_.below(2) == 0) op.token = token(key);
  }
  if (decides) {
    words = decision(key, op.amount);
    op = {.key = key.name, .timeout_ms = kTimeoutMs, .kind = OpKind::decide, .ack = op.ack};
    op.words = words;
    ++shared_.trace.operations["decisions"];
  }
  if (key.kind == Kind::frequency && !key.lives() && slice_draws_.below(2) == 0)
    begin_in_slices(key, node);
  SimNode* const other = op.token.number != 0 ? nodes_[kind_draws_.below(nodes_.size())] : nullptr;
  const bool twice = other != nullptr && other->running() && !other->asleep();
  if (twice) ++key.adds[digit].sent;
  // Then the node executes it by itself, at once.
  const Partition home = Placement{shared_.oracle.placement(), key.ref()}.partition();
  const bool here = op.token.number == 0 && (key.is_sum() || rules_of(key.kind).share == nullptr) &&
                    node.core()->view().answers_for(home);
  const bool undated =
      key.lives() && here && !node.core()->clock().trusted() && !node.core()->storage_full();
  node.ask(op, [this, at, digit, ack = op.ack, undated, here, home, &node](const Answer& answer) {
    const auto& done = std::get<Done>(answer);
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers add " + std::to_string(digit) + " of " + keys_[at].name +
             ": " + std::string(quipu::describe(done.code).name) + " " +
             (keys_[at].is_sum() || done.code != Code::ok ? done.detail : std::string());
    });
    on_added(at, digit, ack, done);
    const Add& add = keys_[at].adds[digit];
    if (quipu::describe(done.code).outcome != Outcome::applied || add.refused) return;
    if (here && keys_[at].is_sum()) actors_.on_counted(node, home);
    if (undated && node.last_trusted() < add.begun)
      fail(Invariant::doubtful_clock_dates_nothing,
           node.name() + " does not trust its clock, and counted in " + keys_[at].name);
  });
  if (!twice) return;
  other->ask(op, [this, at, digit, ack = op.ack](const Answer& answer) {
    on_added(at, digit, ack, std::get<Done>(answer));
  });
}

// In a life that this may begin, adds go to slices.
void EndsClients::begin_in_slices(const Key& key, SimNode& node) {
  const std::string words = frequency::words_to_begin({20'000, 1});
  Op op{.key = key.name, .kind = OpKind::apply, .ack = Ack::memory};
  op.words = words;
  op.timeout_ms = kTimeoutMs;
  op.shard = shard_of(key.kind);
  node.ask(op, [](const Answer&) {});
}

// What is sent twice may be carried out by the later copy, where its executor forgot the first.
void EndsClients::on_added(std::size_t at, std::size_t digit, Ack ack, const Done& done) {
  Add& add = keys_[at].adds[digit];
  const bool refused = keys_[at].is_sum() && done.code == Code::ok && done.detail.starts_with("0 ");
  const Outcome outcome = refused ? Outcome::not_applied : quipu::describe(done.code).outcome;
  ++add.answered;
  if (outcome == Outcome::not_applied) ++add.refusals;
  add.refused = add.refusals == add.sent;
  if (outcome != Outcome::applied) return;
  if (add.answered == add.sent) add.latest = shared_.time.now();
  if (ack != Ack::quorum) return;
  add.acked = std::min(add.acked, shared_.time.now());
  if (const std::string lacking = who_lacks(keys_[at], digit); !lacking.empty())
    fail(Invariant::quorum_ack_is_on_a_majority, lacking);
}

std::string EndsClients::who_lacks(const Key& key, std::size_t digit) const {
  const Instant now = shared_.time.now();
  if (key.is_sum() || !key.lives() || ledger_.came_back() ||
      ledger_.disks_lost_since(Instant::min()) > 0 ||
      !must_show(key, digit, now + milliseconds(1), now))
    return {};
  const auto has = [&](const ShardMap& map, const ShardState& held) {
    const ShardRef ref = key.ref();
    const auto bodies = bodies_at(map, {std::string(ref.key), ref.shard}, held);
    if (!bodies) return true;
    const std::vector<std::string_view> views(bodies->begin(), bodies->end());
    std::string reply;
    (void)rules_of(key.kind).answer(views, question_of(key.kind), reply);
    return digit_of(total_in(key, reply), digit) > 0;
  };
  return quipu::sim::who_lacks(shared_, nodes_, key.ref(), has);
}

// The next token of a session with an owner. None: the session is being opened.
Token EndsClients::token(const Key& key) {
  const Partition home = Placement{shared_.oracle.placement(), key.ref()}.partition();
  const auto owners = shared_.config.owners.of(home);
  const SimNode& executor = *nodes_[owners[kind_draws_.below(owners.size())]];
  if (!executor.running()) return {};
  const StoreId store = executor.core()->executor().meta().store;
  Session& session = sessions_[store];
  if (session.serial != Serial{}) return {store, session.serial, session.next++, 0};
  Op open{.kind = OpKind::open_session};
  open.token.store = store;
  open.timeout_ms = kTimeoutMs;
  nodes_[kind_draws_.below(nodes_.size())]->ask(open, [this](const Answer& answer) {
    const auto& done = std::get<Done>(answer);
    if (done.code == Code::ok) sessions_[done.store] = {done.serial};
  });
  return {};
}

std::vector<std::string> EndsClients::keys_of_elements() const {
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    if (key.kind == Kind::distinct) names.push_back(key.name);
  }
  return names;
}

// For so long after the end of a life, what is added may still be taken for a part of it.
Duration EndsClients::apart_for(const Key& key) const {
  return key.is_sum() ? apart_ : apart_ + kBirthStep;
}

void EndsClients::open_again() {
  Key key;
  key.name = std::string(kEndsPrefix) + "again:" + std::to_string(again_.size());
  key.kind = Kind::distinct;
  SimNode& node = *nodes_[again_draws_.below(nodes_.size())];
  if (again_.size() == kMostAgain || !executes(node, key)) return;
  again_.push_back(key);
  const std::string words = element(0);
  node.ask(Op{.key = key.name,
              .words = words,
              .timeout_ms = kTimeoutMs,
              .shard = kDistinctShard,
              .kind = OpKind::apply},
           [](const Answer&) {});
  shared_.time.in(seconds(1), [this, key, &node] {
    if (!stopped_ && executes(node, key)) begin_again(key, node);
  });
}

bool EndsClients::executes(const SimNode& node, const Key& key) const {
  const Partition home = Placement{shared_.oracle.placement(), key.ref()}.partition();
  return node.running() && !node.asleep() && node.core()->view().answers_for(home);
}

void EndsClients::begin_again(const Key& key, SimNode& node) {
  const std::string before = element(1), after = element(2);
  Op op{.key = key.name, .timeout_ms = kTimeoutMs, .shard = kDistinctShard, .ack = Ack::memory};
  op.kind = OpKind::apply;
  op.words = before;
  node.ask(op, [](const Answer&) {});
  op.kind = OpKind::reset;
  op.words = {};
  node.ask(op, [](const Answer&) {});
  op.kind = OpKind::apply;
  op.words = after;
  op.ack = Ack::quorum;
  node.ask(op, [this, key, begun = shared_.time.now()](const Answer& answer) {
    if (std::get<Done>(answer).code != Code::ok || ledger_.came_back() ||
        ledger_.disks_lost_since(begun) > 0)
      return;
    const auto has = [](const ShardMap&, const ShardState& held) {
      return !held.parts.empty() && covers(held.parts.back().body, body_of(element(2)));
    };
    const std::string lacking = quipu::sim::who_lacks(shared_, nodes_, key.ref(), has);
    if (!lacking.empty()) fail(Invariant::quorum_ack_is_on_a_majority, lacking);
  });
}

// Such a node, often, since the words travel from there.
SimNode* EndsClients::not_owner_of(const Key& key, SimNode* other) {
  const Partition home = Placement{shared_.oracle.placement(), {key.name, 0}}.partition();
  SimNode* const one = nodes_[decisions_.below(nodes_.size())];
  return one->running() && !one->core()->view().owned(home) ? one : other;
}

// What ended must not end earlier than its adds say: so a new value is only for those that expire.
std::string EndsClients::decision(const Key& key, std::int64_t amount) {
  const bool replaces = !key.lives() && decisions_.below(2) == 0;
  const auto ttl = key.lives() ? key.ttl / milliseconds(1)
                               : static_cast<std::int64_t>(decisions_.below(2) * 3000);
  return key.name + (replaces ? " set " : " add ") + std::to_string(amount) +
         (ttl > 0 ? " for " + std::to_string(ttl) : "");
}

void EndsClients::change(std::size_t at) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running()) return;
  const std::uint64_t draw = random_.below(8);
  if (draw < 5)
    return expire(at, node, node.true_wall() + milliseconds(random_.below(3000)), Ack::disk);
  if (draw < 6) return expire(at, node, Wall{}, Ack::disk);
  if (draw < 7) return expire(at, node, node.true_wall() - seconds(1), Ack::disk);
  Op op{.key = keys_[at].name, .kind = OpKind::reset};
  op.shard = shard_of(keys_[at].kind);
  op.timeout_ms = kTimeoutMs;
  node.ask(op, [](const Answer&) {});
}

void EndsClients::expire(std::size_t at, SimNode& node, Wall when, Ack ack) {
  Op op{.key = keys_[at].name, .kind = OpKind::expire};
  op.shard = shard_of(keys_[at].kind);
  op.amount = when.time_since_epoch().count();
  op.ack = ack;
  op.timeout_ms = kTimeoutMs;
  ++shared_.trace.operations["deadlines"];
  node.ask(op, [this, at, ack, &node](const Answer& answer) {
    const auto& done = std::get<Done>(answer);
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers a deadline of " + keys_[at].name + ": " +
             std::string(quipu::describe(done.code).name);
    });
    if (!stopped_ || ack != Ack::quorum) return;
    if (done.code == Code::ok) --unended_;
    if (done.code != Code::ok) {
      shared_.time.in(milliseconds(200), [this, at] {
        expire(at, *nodes_[random_.below(nodes_.size())],
               nodes_[0]->true_wall() + milliseconds(300), Ack::quorum);
      });
    }
  });
}

void EndsClients::read(std::size_t at) {
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (!node.running()) return;
  const auto level = ReadLevel{static_cast<std::uint8_t>(random_.below(3))};
  if (level == ReadLevel::strong && !options_.has(Knob::strong_reads) && random_.below(4) != 0)
    return;
  read(at, node, level);
}

// Between the moments when the fastest and the slowest trusted clock say that it ends, only what
// the fastest tells others keeps them from showing it.
void EndsClients::watch_the_end(std::size_t at, Wall deadline) {
  Key& key = keys_[at];
  if (std::exchange(key.watched, deadline) == deadline) return;
  std::vector<SimNode*> trusted;
  for (SimNode* node : nodes_)
    if (node->running() && node->core()->clock().trusted()) trusted.push_back(node);
  if (trusted.size() < 2) return;
  const auto [slowest, fastest] = std::ranges::minmax_element(
      trusted, {}, [](SimNode* node) { return node->core()->clock().at(node->clock().now()); });
  const Duration left = deadline - (*fastest)->core()->clock().at((*fastest)->clock().now());
  for (int reads = 0; reads < 8; ++reads) {
    SimNode* const node = reads < 4 ? *fastest : *slowest;
    shared_.time.in(std::max(left, Duration{}) + milliseconds(decisions_.below(60)),
                    [this, at, node] {
                      if (!stopped_ && node->running()) read(at, *node, ReadLevel::strong);
                    });
  }
}

// Which adds the body has. Above all digits: something else, too.
std::int64_t EndsClients::digits_of(const Key& key, const std::string& body) {
  std::int64_t digits = 0;
  std::string known = body_of(distinct::words_of({}));
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const std::string one = body_of(element(digit));
    if (!covers(body, one)) continue;
    digits += std::int64_t{1} << (2 * digit);
    join_bodies(known, one);
  }
  return body.empty() || body == known ? digits : std::int64_t{1} << (2 * key.adds.size());
}

// Above all digits: the reply is malformed.
std::int64_t EndsClients::total_in(const Key& key, const std::string& reply) {
  if (key.kind == Kind::distinct) return digits_of(key, reply);
  const auto counts = counts_in(key.kind, reply);
  return counts && counts->size() == 1 ? static_cast<std::int64_t>(counts->front())
                                       : std::int64_t{1} << (2 * key.adds.size());
}

void EndsClients::query(std::size_t at, SimNode& node, ReadLevel level) {
  const std::string question = question_of(keys_[at].kind);
  const Query ask{.kind = keys_[at].kind,
                  .level = level,
                  .timeout_ms = kTimeoutMs,
                  .words = question,
                  .keys = {keys_[at].name}};
  node.ask(ask, [this, at, level, begun = shared_.time.now(),
                 trusted = node.core()->clock().trusted(), &node](const Answer& answer) {
    const auto& reply = std::get<QueryReply>(answer);
    if (reply.code != Code::ok) return;
    const Value value{.value = total_in(keys_[at], reply.reply)};
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers a query of " + keys_[at].name + ": " +
             std::to_string(value.value) + ", for " + std::to_string(reply.expires_in_ms) + " ms";
    });
    // A strong query says 1 ms for as long as no owner has realized the deadline.
    if (reply.expires_in_ms > 1) {
      watch_the_end(at, node.core()->clock().at(node.clock().now()) +
                            Wall::duration(static_cast<std::int64_t>(reply.expires_in_ms)));
    }
    check(at, node, level, value, begun, trusted && node.core()->clock().trusted());
  });
}

void EndsClients::read(std::size_t at, SimNode& node, ReadLevel level) {
  if (!keys_[at].is_sum()) return query(at, node, level);
  Read ask{.level = level, .timeout_ms = kTimeoutMs, .keys = {keys_[at].name}};
  node.ask(ask, [this, at, level, begun = shared_.time.now(),
                 trusted = node.core()->clock().trusted(), &node](const Answer& answer) {
    const Value& value = std::get<Values>(answer).values.front();
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " reads " + keys_[at].name + ": " +
             std::string(quipu::describe(value.code).name) + " " + std::to_string(value.value) +
             ", for " + std::to_string(value.expires_in_ms) + " ms";
    });
    if (value.code == Code::ok && value.ends != Wall{}) watch_the_end(at, value.ends);
    if (value.code == Code::ok)
      check(at, node, level, value, begun, trusted && node.core()->clock().trusted());
  });
}

// When an add counts no more, by any trusted clock. A counter that a node has not heard of is
// created anew, and so lives on: by the last add of which that may be true.
Instant EndsClients::ended(const Key& key, std::size_t digit) const {
  const Duration most = key.ttl + apart_;
  Instant end = key.adds[digit].latest + most;
  for (bool grew = true; std::exchange(grew, false);) {
    for (const Add& other : key.adds) {
      if (other.refused || other.begun > end || other.latest + most <= end) continue;
      end = other.latest + most;
      grew = true;
    }
  }
  return end;
}

// It was acked at quorum, and the life in which it counts cannot be over: that began with an add
// of which nobody can say that its life had ended before.
bool EndsClients::must_show(const Key& key, std::size_t digit, Instant begun,
                            Instant answered) const {
  const Add& add = key.adds[digit];
  if (add.acked >= begun) return false;
  Instant first = add.begun;
  for (const Add& other : key.adds) {
    if (!other.refused && other.begun < first &&
        other.latest + key.ttl + apart_for(key) >= add.begun)
      first = other.begun;
  }
  return first + key.ttl - apart_ > answered;
}

void EndsClients::check(std::size_t at, const SimNode& node, ReadLevel level, const Value& value,
                        Instant begun, bool trusted) {
  Key& key = keys_[at];
  const auto told = [&] {
    return node.name() + " reads " + key.name + " as " + std::to_string(value.value);
  };
  const std::int64_t beyond = std::int64_t{1} << (2 * key.adds.size());
  if (value.value < 0 || value.value >= beyond)
    return fail(Invariant::counts_in_one_life, told() + ", which nobody added");
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const std::uint64_t times = digit_of(value.value, digit);
    const std::string what = "add " + std::to_string(digit);
    if (times > 1)
      return fail(Invariant::counts_in_one_life, told() + ", in which " + what + " counts twice");
    if (times == 1 && key.adds[digit].refused && ledger_.disks_lost_since(Instant::min()) == 0)
      return fail(Invariant::counts_in_one_life, told() + ", though " + what + " was refused");
    if (level == ReadLevel::strong && trusted && ledger_.disks_lost_since(Instant::min()) == 0 &&
        !ledger_.came_back()) {
      Add& add = key.adds[digit];
      if (times == 1 && add.gone < begun)
        return fail(Invariant::ended_stays_ended,
                    told() + ", in which " + what +
                        " is back, which an earlier strong read did not show any more");
      const Instant now = shared_.time.now();
      if (times == 1) add.shown = std::min(add.shown, now);
      if (times == 0 && std::min(add.acked, add.shown) < begun) add.gone = std::min(add.gone, now);
    }
    if (!key.lives()) continue;
    if (times == 1 && trusted && begun > ended(key, digit))
      return fail(Invariant::ended_stays_ended, told() + ", in which " + what + " had ended");
    if (times == 0 && level == ReadLevel::strong && ledger_.disks_lost_since(Instant::min()) == 0 &&
        must_show(key, digit, begun, shared_.time.now()))
      return fail(Invariant::counts_in_one_life,
                  told() + ", without " + what + ", which was acked and cannot have ended");
  }
}

// ---- once nothing fails any more ----

void EndsClients::end_all() {
  std::ranges::move(again_, std::back_inserter(keys_));
  again_.clear();
  for (std::size_t at = 0; at < keys_.size(); ++at) {
    if (keys_[at].lives()) continue;
    ++unended_;
    expire(at, *nodes_[random_.below(nodes_.size())], nodes_[0]->true_wall() + milliseconds(300),
           Ack::quorum);
  }
}

Instant EndsClients::all_ended() const {
  return shared_.time.now() + std::ranges::max(kTtls) + apart_ + milliseconds(300);
}

void EndsClients::watch(std::string key) {
  Key watched;
  watched.name = std::move(key);
  watched.since = shared_.time.now();
  keys_.push_back(std::move(watched));
}

// A disk that came back may have brought what had no end.
bool EndsClients::excused(const Key& key) const {
  return !key.lives() && key.since == Instant{} && ledger_.came_back();
}

std::string EndsClients::who_shows() const {
  for (const Key& key : keys_) {
    if (excused(key)) continue;
    const std::array<std::string_view, 1> name{key.name};
    for (const SimNode* node : nodes_) {
      const Executor& executor = node->core()->executor();
      const Entry* const entry =
          executor.map().index().find(executor.map().place(key.ref()), key.ref());
      if (!key.is_sum() && entry != nullptr &&
          entry->shows_counter(executor.date(node->clock().now())))
        return node->name() + " shows " + key.name;
      std::array<Value, 1> value;
      node->core()->read_now(node->clock().now(), name, value);
      if (value[0].shards != 0 && (value[0].exists || value[0].value != 0))
        return node->name() + " shows " + key.name + " as " + std::to_string(value[0].value);
    }
  }
  return {};
}

std::string EndsClients::who_holds() const {
  for (const Key& key : keys_) {
    if (excused(key)) continue;
    const ShardRef ref = key.ref();
    for (const SimNode* node : nodes_) {
      const ShardMap& map = node->core()->executor().map();
      const Placement place = map.place(ref);
      // One that never had an end is never forgotten.
      const Entry* const entry = map.index().find(place, ref);
      if (entry != nullptr && entry->is_dated())
        return node->name() + " still holds " + key.name + " in memory";
      const auto& durable = node->disk().bytes().durable;
      const auto at_rest = durable.find(stored::shard(place, ref));
      if (at_rest != durable.end() &&
          !is_plain(decode_shard_state(at_rest->first, at_rest->second).value()))
        return node->name() + " still has " + key.name + " at rest";
    }
  }
  return {};
}

}  // namespace quipu::sim
