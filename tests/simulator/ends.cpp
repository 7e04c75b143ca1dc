#include "tests/simulator/ends.h"

#include <algorithm>
#include <array>
#include <memory>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// So that the other draws of a seed stay as they are.
constexpr std::uint64_t kEndsDraws = 0x656e, kDecisionDraws = 0x6463;
constexpr std::uint64_t kMostPauseMs = 40;
constexpr std::size_t kMostKeys = 12, kMostAdds = 30;
constexpr std::uint32_t kTimeoutMs = 1000;
// An op that got no answer may be carried out for so long, by whichever node it has reached.
constexpr Duration kLatest = seconds(12);
constexpr std::array<Duration, 4> kTtls{milliseconds(400), seconds(1), milliseconds(2500),
                                        seconds(5)};

}  // namespace

EndsClients::EndsClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                         const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      options_(options),
      random_(options.seed ^ kEndsDraws),
      decisions_(options.seed ^ kDecisionDraws),
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
  const bool opens = keys_.size() < 3 || (keys_.size() < kMostKeys && random_.below(40) == 0);
  if (opens) {
    Key key;
    key.name = std::string(kEndsPrefix) + std::to_string(keys_.size());
    if (random_.below(3) != 0) key.ttl = kTtls[random_.below(kTtls.size())];
    key.burst_ends = shared_.time.now() + milliseconds(100 + random_.below(1200));
    keys_.push_back(std::move(key));
  }
  const std::size_t at = keys_.size() - 1 - random_.below(std::min<std::size_t>(keys_.size(), 5));
  Key& key = keys_[at];
  const Instant now = shared_.time.now();
  if (now > key.burst_ends && now > key.next_burst && key.lives()) {
    // The next burst comes when each add of the last one has surely ended, or soon.
    const Duration pause = random_.below(2) == 0 ? key.ttl + apart_ : key.ttl;
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
  const bool decides = decisions_.below(2) == 0;
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
  if (decides) {
    words = decision(key, op.amount);
    op = {.key = key.name, .timeout_ms = kTimeoutMs, .kind = OpKind::decide, .ack = op.ack};
    op.words = words;
    ++shared_.trace.operations["decisions"];
  }
  // Then the node executes it by itself, at once.
  const Partition home = Placement{shared_.oracle.placement(), {key.name, 0}}.partition();
  const bool here = node.core()->view().answers_for(home);
  const bool undated =
      key.lives() && here && !node.core()->clock().trusted() && !node.core()->storage_full();
  node.ask(op, [this, at, digit, ack = op.ack, undated, here, home, &node](const Answer& answer) {
    const auto& done = std::get<Done>(answer);
    Add& add = keys_[at].adds[digit];
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers add " + std::to_string(digit) + " of " + keys_[at].name +
             ": " + std::string(quipu::describe(done.code).name) + " " + done.detail;
    });
    const bool refused = done.code == Code::ok && done.detail.starts_with("0 ");
    const Outcome outcome = refused ? Outcome::not_applied : quipu::describe(done.code).outcome;
    add.refused = outcome == Outcome::not_applied;
    if (outcome != Outcome::applied) return;
    add.latest = shared_.time.now();
    if (here) actors_.on_counted(node, home);
    if (ack == Ack::quorum) add.acked = shared_.time.now();
    if (undated && node.last_trusted() < add.begun)
      fail(Invariant::doubtful_clock_dates_nothing,
           node.name() + " does not trust its clock, and counted in " + keys_[at].name);
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
  op.timeout_ms = kTimeoutMs;
  node.ask(op, [](const Answer&) {});
}

void EndsClients::expire(std::size_t at, SimNode& node, Wall when, Ack ack) {
  Op op{.key = keys_[at].name, .kind = OpKind::expire};
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

void EndsClients::read(std::size_t at, SimNode& node, ReadLevel level) {
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
    if (!other.refused && other.begun < first && other.latest + key.ttl + apart_ >= add.begun)
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
    const ShardRef ref{key.name, 0};
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
