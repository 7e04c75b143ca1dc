#include "tests/simulator/windows.h"

#include <algorithm>
#include <array>
#include <functional>

#include "protocol/state_codec.h"
#include "storage/stored_keys.h"

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWindowDraws =
    0x7769;  // so that the other draws of a seed stay as they are
constexpr std::uint64_t kWindowPauseMs = 60;
constexpr std::size_t kMostCounters = 5, kMostDigits = 28;
constexpr std::uint32_t kAskMs = 1000;
// An op that got no answer may be carried out for so long, by whichever node it has reached.
constexpr Wall::duration kWindowLatest = seconds(12);
// Above 10 s, so that forgetting a window too early, by its length, shows.
constexpr std::array<Tier, 3> kTiers{Tier{seconds(1), seconds(8)}, Tier{seconds(4), seconds(24)},
                                     Tier{seconds(24), seconds(24)}};

std::string in_seconds(Wall time) {
  return std::to_string(time.time_since_epoch().count() / 1000 % 100'000) + " s";
}

}  // namespace

WindowsClients::WindowsClients(const Shared& shared, const std::vector<SimNode*>& nodes,
                               const Ledger& ledger, const Options& options)
    : shared_(shared),
      nodes_(nodes),
      ledger_(ledger),
      options_(options),
      random_(options.seed ^ kWindowDraws),
      // As EndsClients says it of two clocks.
      off_(milliseconds(options.has(Knob::wrong_walls)   ? 6500
                        : options.has(Knob::clock_jumps) ? 1800
                                                         : 700)),
      actors_(nodes, ledger) {
  policy_.tiers.assign(kTiers.begin(), kTiers.end());
  if (random_.below(2) == 0) policy_.late = seconds(3);
}

// ---- while it runs ----

void WindowsClients::work() {
  if (stopped_) return;
  defined_ ? act() : define();
  shared_.time.in(milliseconds(1 + random_.below(kWindowPauseMs)), [this] { work(); });
}

// A node that has not heard of it counts nothing in time. So adds begin when all hold it.
void WindowsClients::define() {
  const std::string name(kWindowsPrefix.substr(0, kWindowsPrefix.size() - 1));
  const auto holds = [&name](const SimNode* node) {
    return node->running() && node->core()->executor().namespaces().find(name) != nullptr;
  };
  defined_ = std::ranges::all_of(nodes_, holds);
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (defined_ || std::ranges::any_of(nodes_, holds)) return;
  node.ask(NamespaceRequest{.action = NamespaceAction::create, .name = "time", .policy = policy_},
           {[](const NamespaceTable&) {}, [](const NamespaceReply&) {}});
}

// On a full disk it may wait, and a crash undoes it until then.
bool WindowsClients::all_hold_at_rest() const {
  const std::string name(kWindowsPrefix.substr(0, kWindowsPrefix.size() - 1));
  return std::ranges::all_of(nodes_, [&name](const SimNode* node) {
    return node->disk().bytes().durable.contains(stored::namespace_definition(name));
  });
}

void WindowsClients::act() {
  if (const std::string who = actors_.who_gave_up(); !who.empty())
    fail(Invariant::actor_is_kept, who);
  const bool opens = keys_.empty() || (keys_.size() < kMostCounters && random_.below(30) == 0);
  if (opens) {
    keys_.emplace_back();
    keys_.back().name = std::string(kWindowsPrefix) + std::to_string(keys_.size());
  }
  const std::size_t at = random_.below(keys_.size());
  SimNode& node = *nodes_[random_.below(nodes_.size())];
  if (random_.below(3) == 0) return add(at, node, Ack{static_cast<std::uint8_t>(random_.below(3))});
  const auto level = ReadLevel{static_cast<std::uint8_t>(random_.below(3))};
  if (level == ReadLevel::strong && !options_.has(Knob::strong_reads) && random_.below(4) != 0)
    return;
  ask(at, node, level, kTiers[random_.below(kTiers.size())].length, false);
}

void WindowsClients::add(std::size_t at, SimNode& node, Ack ack, std::function<void()> then) {
  Key& key = keys_[at];
  if (key.adds.size() >= kMostDigits + (stopped_ ? 2 : 0) || !node.running()) return;
  const std::size_t digit = key.adds.size();
  const Wall begun = true_wall();
  key.adds.push_back({.begun = begun, .latest = begun + kWindowLatest});
  at_rest_ = at_rest_ || all_hold_at_rest();
  Op op{.key = key.name, .amount = std::int64_t{1} << (2 * digit), .kind = OpKind::add};
  op.ack = ack;
  op.timeout_ms = kAskMs;
  if (policy_.late && random_.below(3) == 0) {
    const Wall when = begun - milliseconds(random_.below(4000));
    op.at_ms = when.time_since_epoch().count();
    key.adds.back() = {.begun = when, .latest = when, .dated = true};
  }
  key.adds.back().by_tiers = at_rest_;
  ++shared_.trace.operations["adds in windows"];
  const Partition home = Placement{shared_.oracle.placement(), {key.name, 0}}.partition();
  const bool here = node.core()->view().answers_for(home);
  // A replaced disk may not hold the definition yet.
  const bool undated = here && node.core()->executor().namespaces().by_tiers() &&
                       !node.core()->clock().trusted() && !node.core()->storage_full();
  node.ask(op, [this, at, digit, ack, undated, asked = shared_.time.now(), here, home,
                then = std::move(then), &node](const Answer& answer) {
    const auto& done = std::get<Done>(answer);
    Add& add = keys_[at].adds[digit];
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers add " + std::to_string(digit) + " of " + keys_[at].name +
             ": " + std::string(quipu::describe(done.code).name) + " " + done.detail;
    });
    const Outcome outcome = quipu::describe(done.code).outcome;
    add.refused = outcome == Outcome::not_applied;
    if (outcome != Outcome::applied) return;
    if (!add.dated) add.latest = true_wall();
    if (here) actors_.on_counted(node, home);
    if (ack == Ack::quorum) add.acked = shared_.time.now();
    if (undated && node.last_trusted() < asked)
      fail(Invariant::doubtful_clock_dates_nothing,
           node.name() + " does not trust its clock, and counted in " + keys_[at].name);
    if (then) then();
  });
}

void WindowsClients::ask(std::size_t at, SimNode& node, ReadLevel level, seconds step,
                         bool must_answer) {
  if (!node.running()) return;
  RangeRequest range{.key = keys_[at].name, .level = level};
  range.last = seconds(90);
  range.step = step;
  range.timeout_ms = kAskMs;
  ++shared_.trace.operations["ranges"];
  node.ask(range, [this, at, level, step, must_answer, begun = shared_.time.now(),
                   &node](const Answer& answer) {
    const auto& reply = std::get<RangeReply>(answer);
    shared_.trace.say(shared_.time.now(), [&] {
      return node.name() + " answers a range of " + keys_[at].name + ": " +
             std::string(quipu::describe(reply.code).name) + " " + reply.detail +
             (reply.complete ? ", complete" : "") + ", settled until " +
             in_seconds(reply.settled_until);
    });
    if (reply.code == Code::ok) return check(at, node, level, reply, begun);
    if (must_answer) {  // a link may have been closed for want of room
      shared_.time.in(milliseconds(200),
                      [this, at, level, step, &node] { ask(at, node, level, step, true); });
    }
  });
}

// ---- checks ----

bool WindowsClients::nothing_lost() const {
  return ledger_.disks_lost_since(Instant::min()) == 0 && !ledger_.came_back();
}

bool WindowsClients::may_be_in(const Add& add, Wall begin, Wall end) const {
  if (add.dated) return begin <= add.begun && add.begun < end;
  return add.begun - off_ < end && add.latest + off_ >= begin;
}

bool WindowsClients::kept_at(const Add& add, seconds tier, Wall when) const {
  const auto kept = std::ranges::find(kTiers, tier, &Tier::length)->kept;
  return add.begun - off_ + *kept > when + off_;
}

// `times`: by add, in how many steps it was seen.
void WindowsClients::check_step(std::size_t at, const SimNode& node, const RangeReply& reply,
                                std::size_t step, std::vector<std::size_t>& times) {
  const Key& key = keys_[at];
  const std::int64_t count = reply.counts[step];
  const Wall begin = reply.begin + reply.step * static_cast<std::int64_t>(step);
  const auto told = [&] {
    return node.name() + " tells " + std::to_string(count) + " for " + key.name + " from " +
           in_seconds(begin) + " in steps of " + std::to_string(reply.step.count()) + " s";
  };
  if (count < 0 || count >= std::int64_t{1} << (2 * key.adds.size()))
    return fail(Invariant::one_window_per_tier, told() + ", which nobody added");
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const std::uint64_t seen = digit_of(count, digit);
    const Add& add = key.adds[digit];
    const std::string what = "add " + std::to_string(digit);
    times[digit] += seen;
    if (seen > 0 && !may_be_in(add, begin, begin + reply.step))
      return fail(Invariant::one_window_per_tier,
                  told() + ", in which " + what + " is, of " + in_seconds(add.begun));
    if (seen > 0 && add.refused && nothing_lost())
      return fail(Invariant::one_window_per_tier, told() + ", though " + what + " was refused");
  }
  const Wall end = begin + reply.step;
  const auto kept = std::ranges::find(kTiers, reply.step, &Tier::length)->kept;
  if (end > reply.settled_until || end + *kept <= true_wall() + off_ || !nothing_lost()) return;
  const auto [known, fresh] = settled_.try_emplace({at, reply.step, begin}, count, node.name());
  if (known->second.count != count)
    fail(Invariant::settled_does_not_change, told() + ", though " + known->second.by + " told " +
                                                 std::to_string(known->second.count) +
                                                 ", and both called it settled");
}

void WindowsClients::check(std::size_t at, const SimNode& node, ReadLevel level,
                           const RangeReply& reply, Instant begun) {
  const Key& key = keys_[at];
  std::vector<std::size_t> times(key.adds.size());
  for (std::size_t step = 0; step < reply.counts.size() && !shared_.trace.failure(); ++step)
    check_step(at, node, reply, step, times);
  for (std::size_t digit = 0; digit < times.size() && !shared_.trace.failure(); ++digit) {
    const std::string what = node.name() + " tells of add " + std::to_string(digit) + " to " +
                             key.name + " in steps of " + std::to_string(reply.step.count()) +
                             " s: it is in ";
    if (times[digit] > 1)
      return fail(Invariant::one_window_per_tier, what + std::to_string(times[digit]));
    const Add& add = key.adds[digit];
    // A range until now ends by the clock of its node, which may be behind the executor's.
    const Wall end = reply.begin + reply.step * static_cast<std::int64_t>(reply.counts.size());
    const bool must = level == ReadLevel::strong && add.acked < begun && add.by_tiers &&
                      nothing_lost() && kept_at(add, reply.step, true_wall()) &&
                      add.latest + off_ < end;
    if (times[digit] == 0 && must)
      return fail(Invariant::one_window_per_tier, what + "none, though it was acked at quorum");
  }
}

// ---- once nothing fails any more ----

std::size_t WindowsClients::waiting() const {
  std::size_t sum = 0;
  for (const SimNode* node : nodes_) sum += node->asked_others();
  return sum;
}

void WindowsClients::ask_all() {
  const auto ask_nodes = [this](std::size_t at) {
    for (SimNode* node : nodes_) {
      for (const Tier& tier : kTiers) ask(at, *node, ReadLevel::strong, tier.length, true);
    }
  };
  for (std::size_t at = 0; at < keys_.size(); ++at) {
    ask_nodes(at);
    add(at, *nodes_[random_.below(nodes_.size())], Ack::quorum, [=] { ask_nodes(at); });
  }
}

// Found by a sweep within 10 s.
Instant WindowsClients::all_gone() const {
  return shared_.time.now() + 2 * seconds(24) + kLifeGrace + 2 * off_;
}

std::string WindowsClients::who_holds() const {
  for (const SimNode* node : nodes_) {
    const ShardMap& map = node->core()->executor().map();
    std::string held;
    const auto look = [&](const ShardRef& ref, const char* where) {
      if (is_window(ref.shard) && ref.key.starts_with(kWindowsPrefix))
        held = node->name() + " still has a window of " + std::string(window_of(ref).key) + where +
               ", of " + in_seconds(window_of(ref).begin());
    };
    for (std::uint16_t p = 0; p < kPartitions && held.empty(); ++p) {
      map.index().for_each(Partition{p}, [&](const Entry& entry) {
        if (!entry.is_bottom()) look(entry.ref(), " in memory");
      });
    }
    for (const auto& [name, value] : node->disk().bytes().durable) {
      if (const auto named = stored::parse_shard(name)) look(named->ref, " at rest");
    }
    if (!held.empty()) return held;
  }
  return {};
}

}  // namespace quipu::sim
