#include "tests/simulator/nemesis.h"

#include <algorithm>

namespace quipu::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kWallDraws = 0x77a11, kCloseDraws = 0x636c'6f73;  // generators of their own

std::string in_seconds(Duration length) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(length).count()) + " ms";
}

}  // namespace

Nemesis::Nemesis(const Shared& shared, std::vector<SimNode*> nodes, Ledger& ledger,
                 const Options& options, Random random)
    : shared_(shared),
      nodes_(std::move(nodes)),
      ledger_(ledger),
      options_(options),
      strikes_(random),
      random_(strikes_.split()),
      walls_(options.seed ^ kWallDraws),
      closes_(options.seed ^ kCloseDraws),
      wrong_wall_(walls_.below(nodes_.size())),
      hosts_(options.nodes + options.clients + options.wire_clients),
      left_(options.faults),
      restarting_(nodes_.size()),
      slow_until_(nodes_.size()),
      full_until_(nodes_.size()),
      lost_(nodes_.size()),
      copies_(nodes_.size()),
      away_(nodes_.size()) {
  for (SimNode* node : nodes_) {
    all_.push_back(node->member());
    if (options.has(Knob::lost_tails)) node->disk().remember_tail();
  }
  set_walls();
}

void Nemesis::start(Disks disks) {
  active_ = true;
  disks_ = disks;
  ++starts_;
  shared_.network.be_kind(false);
  if (options_.has(Knob::drift)) {
    for (SimNode* node : nodes_) node->clock().drift(draw_ppm());
  }
  strike();
  if (options_.has(Knob::wrong_walls)) change_wall();
}

void Nemesis::strike() {
  if (!active_) return;
  static constexpr Fault kFaults[] = {
      {Knob::crashes, &Nemesis::crash},
      {Knob::crashes, &Nemesis::crash},
      {Knob::all_crash, &Nemesis::crash_all},
      {Knob::pauses, &Nemesis::pause},
      {Knob::cuts, &Nemesis::cut},
      {Knob::splits, &Nemesis::split},
      {Knob::splits, &Nemesis::tear},
      {Knob::one_way_cuts, &Nemesis::cut_one_way},
      {Knob::no_replies, &Nemesis::cut_replies},
      {Knob::strangers, &Nemesis::stranger},
      {Knob::slow_disks, &Nemesis::slow_disk},
      {Knob::full_disks, &Nemesis::full_disk},
      {Knob::failed_syncs, &Nemesis::fail_sync},
      {Knob::wipes, &Nemesis::wipe, Disks::lost},
      {Knob::wipes, &Nemesis::replace_unseen, Disks::lost},
      {Knob::old_copies, &Nemesis::restore_copy, Disks::lost},
      {Knob::lost_tails, &Nemesis::lose_tail, Disks::lost},
      {Knob::bit_flips, &Nemesis::flip_bit, Disks::lost},
      {Knob::unheard_tails, &Nemesis::lose_what_was_read, Disks::lost},
      {Knob::relays, &Nemesis::relay, Disks::lost},
      {Knob::clock_jumps, &Nemesis::jump_clock},
  };
  // A generator for each strike, and in it one for the choice: what one fault draws, or
  // another that is switched off does not, leaves the rest of the run as it was.
  random_ = strikes_.split();
  Random choice = random_.split();
  const Duration next = milliseconds(20 + choice.below(options_.fault_ms));
  const bool copies = choice.below(4) == 0;
  const std::size_t copied = choice.below(nodes_.size());
  SimNode& struck = *nodes_[choice.below(nodes_.size())];
  for (SimNode* node : nodes_) {
    if (!node->running()) restart_later(*node);  // a failed sync ended it
  }
  const auto possible = [this](const Fault& fault) {
    return options_.has(fault.knob) && (disks_ == Disks::lost || fault.disks == Disks::kept);
  };
  if (left_ > 0 && shared_.time.now() >= undisturbed_until_ &&
      std::any_of(std::begin(kFaults), std::end(kFaults), possible)) {
    --left_;
    const Fault* fault = nullptr;
    do fault = &kFaults[choice.below(std::size(kFaults))];
    while (!possible(*fault));
    (this->*fault->strike)(struck);
  }
  if (options_.has(Knob::old_copies) && copies) take_copy(copied);
  shared_.time.in(next, [this, mine = starts_] {
    if (mine == starts_) strike();
  });
}

void Nemesis::take_copy(std::size_t node) { copies_[node] = nodes_[node]->disk().bytes(); }

void Nemesis::injected(const SimNode& node, const char* kind, Duration length) {
  ++shared_.trace.faults[kind];
  shared_.trace.say(shared_.time.now(), [&] {
    return std::string("*** ") + node.name() + ": " + kind +
           (length > Duration::zero() ? " for " + in_seconds(length) : "");
  });
}

void Nemesis::heal() {
  active_ = false;
  ++cuts_;
  swap_back();
  set_walls();
  shared_.network.be_kind(true);
  shared_.network.heal();
  for (SimNode* node : nodes_) {
    node->disk().be_slow(kUsualSync);
    node->disk().be_full(false);
    node->disk().fail_no_sync();
    node->wake();
    if (node->closing()) node->crash();
    if (!node->running()) restart(*node);
  }
}

void Nemesis::check_identities() const {
  for (const SimNode* node : nodes_) {
    if (node->running()) check_identity(*node);
  }
}

// ---- processes ----

void Nemesis::crash(SimNode& node) {
  if (!node.running()) return;
  const bool closes = options_.has(Knob::closes) && closes_.below(2) == 0;
  if (closes && !node.asleep() && !node.closing()) return close(node);
  injected(node, "crash");
  node.crash();
  restart_later(node);
}

// Its patience is often too short for peers that are away.
void Nemesis::close(SimNode& node) {
  injected(node, "close");
  node.close(milliseconds(100 + closes_.below(5'000)), [this, &node] { restart_later(node); });
}

void Nemesis::crash_all(SimNode&) {
  if (random_.below(3) != 0) return;
  for (SimNode* node : nodes_) crash(*node);
}

void Nemesis::restart_later(SimNode& node) {
  if (restarting_[node.host()]) return;
  restarting_[node.host()] = true;
  shared_.time.in(upto(random_.below(3) == 0 ? 5000 : 300), [this, &node] { restart(node); });
}

void Nemesis::restart(SimNode& node) {
  restarting_[node.host()] = false;
  if (node.running()) return;
  new_clock(node);
  if (node.start()) return;
  const Code why = node.refusal().code();
  if (why == Code::storage_full || why == Code::storage_failed) {  // a start writes, too
    node.disk().crash();
    restart_later(node);
  } else {
    shared_.trace.fail(shared_.time.now(), Invariant::no_crash,
                       node.name() + " does not start: " + node.refusal().message());
  }
}

void Nemesis::pause(SimNode& node) {
  const Duration length = upto(random_.below(2) == 0 ? 8000 : 800);
  injected(node, "pause", length);
  node.pause(length);
}

// ---- clocks ----

void Nemesis::jump_clock(SimNode& node) {
  const Duration by = random_.below(3) == 0 ? upto(5000) : hours(1 + random_.below(365 * 24));
  injected(node, "clock jump");
  node.jump_clock(by);
}

// Right, as far as clocks can be.
void Nemesis::set_walls() {
  for (SimNode* node : nodes_) node->set_wall(milliseconds(walls_.below(601)) - milliseconds(300));
}

// It jumps, and is set right again. Always that of one node: what others remember of a wrong clock
// must not meet a second one.
void Nemesis::change_wall() {
  if (!active_) return;
  constexpr milliseconds kLeast{10'000}, kMost{1'200'000};
  SimNode& node = *nodes_[wrong_wall_];
  milliseconds ahead = milliseconds(walls_.below(1001)) - milliseconds(500);
  if (walls_.below(3) != 0) {
    ahead = kLeast + milliseconds(walls_.below(static_cast<std::uint64_t>(kMost.count())));
    if (walls_.below(2) == 0) ahead = -ahead;
    injected(node, "wrong wall clock");
  }
  node.set_wall(ahead);
  shared_.time.in(milliseconds(100 + walls_.below(6000)), [this, mine = starts_] {
    if (mine == starts_) change_wall();
  });
}

std::int64_t Nemesis::draw_ppm() { return static_cast<std::int64_t>(random_.below(1001)) - 500; }

// After a start it may show anything.
void Nemesis::new_clock(SimNode& node) {
  const std::int64_t ppm = draw_ppm();
  const Duration shown = hours(1 + random_.below(2 * 365 * 24));
  node.clock().set(Timeline::kStart + (options_.has(Knob::clock_jumps) ? shown : Duration::zero()),
                   options_.has(Knob::drift) ? ppm : 0);
}

}  // namespace quipu::sim
