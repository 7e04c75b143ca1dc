#include "tests/simulator/workload.h"

#include <limits>

namespace quipu::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kKeysToRead = 5;  // that reads choose from

}  // namespace

Workload::Workload(Timeline& time, Trace& trace, Ledger& ledger, const Oracle& oracle,
                   const ClusterConfig& config, const Options& options)
    : time_(time),
      trace_(trace),
      ledger_(ledger),
      oracle_(oracle),
      config_(config),
      options_(options),
      left_(options.operations) {}

void Workload::choose_key(Random& random, Task& task) {
  std::erase_if(open_, [this](const std::string& key) { return ledger_.full(key); });
  while (open_.size() < options_.open_keys) {
    const std::uint64_t draw = random.below(8);
    KeyKind kind = KeyKind::witness;
    if (draw < 2 && options_.has(Knob::negative)) kind = KeyKind::negative_witness;
    if (draw == 2 && options_.has(Knob::negative)) kind = KeyKind::signed_sum;
    if (draw == 3 && options_.has(Knob::big_amounts)) kind = KeyKind::big_sum;
    open_.push_back(ledger_.open_key(kind));
  }
  task.key = open_[random.below(open_.size())];
  if (ledger_.kind(task.key) == KeyKind::signed_sum) {
    task.amount = static_cast<std::int64_t>(random.below(2001)) - 1000;
  } else if (ledger_.kind(task.key) == KeyKind::big_sum) {
    task.amount = static_cast<std::int64_t>(std::numeric_limits<std::int64_t>::max() / 3 +
                                            static_cast<std::int64_t>(random.below(1000)));
    if (options_.has(Knob::negative) && random.below(3) == 0) task.amount = -task.amount;
  }
}

std::optional<Task> Workload::next(Random& client) {
  if (left_ == 0) return std::nullopt;
  --left_;
  Random random = client.split();  // so that what one task draws leaves the next as it was
  Task task;
  task.begun = time_.now();
  task.ack = Ack{static_cast<std::uint8_t>(random.below(3))};
  task.level = ReadLevel{static_cast<std::uint8_t>(random.below(3))};
  if (task.level == ReadLevel::strong && !options_.has(Knob::strong_reads) && random.below(16) != 0)
    task.level = ReadLevel::local;
  task.timeout = milliseconds(1000 + random.below(9000));
  const std::uint64_t draw = random.below(100);
  if (draw < 30 && ledger_.size() > 0) {
    const std::vector<std::string>& keys = ledger_.keys();
    const std::size_t recent = std::min(keys.size(), kKeysToRead);
    task.what = Task::What::read;
    task.key = random.below(4) == 0 || open_.empty() ? keys[keys.size() - 1 - random.below(recent)]
                                                     : open_[random.below(open_.size())];
    task.timeout = milliseconds(500 + random.below(3000));
    const KeyKind kind = ledger_.kind(task.key);
    task.shards = oracle_.known_shards(task.key);
    if (task.level == ReadLevel::fresh && kind != KeyKind::signed_sum && kind != KeyKind::big_sum)
      task.shown = oracle_.shown_by_all(task.key, kind == KeyKind::negative_witness);
  } else if (draw < 33 && options_.has(Knob::shards)) {
    choose_key(random, task);
    task.what = Task::What::raise;
    task.amount = static_cast<std::int64_t>(1 + random.below(8));
  } else if (draw < 39 && options_.has(Knob::resets)) {
    choose_key(random, task);
    // The bounds of a sum with resets would tell nothing; but a big one begins anew after them.
    if (ledger_.kind(task.key) == KeyKind::signed_sum)
      task.key = open_.emplace_back(ledger_.open_key(KeyKind::witness));
    task.what = Task::What::reset;
    task.op = ledger_.begin_reset(task.begun, task.key);
  } else {
    choose_key(random, task);
    task.op = ledger_.begin_add(task.begun, task.key, task.amount);
    task.amount = ledger_.change(task.op).amount;
    if (options_.has(Knob::shards) && random.below(3) == 0)
      task.affinity = Affinity{1 + random.below(3)};
  }
  if (options_.has(Knob::namespaces) && random.below(3) == 0) {
    task.ack = Ack::by_default;
    task.level = ReadLevel::by_default;
    task.shown = 0;
  }
  ++trace_.operations[task.what == Task::What::add     ? "adds"
                      : task.what == Task::What::reset ? "resets"
                      : task.what == Task::What::raise ? "raises"
                                                       : "reads"];
  trace_.say(task.begun, [&] { return describe(task); });
  return task;
}

std::string Workload::describe(const Task& task) const {
  static constexpr const char* kLevels[] = {"memory", "disk", "quorum", "any ack"};
  static constexpr const char* kReads[] = {"local", "fresh", "strong", "any"};
  switch (task.what) {
    case Task::What::add:
      return "add " + std::to_string(ledger_.change(task.op).digit) + " to " + task.key + " (" +
             std::to_string(task.amount) + ", " + kLevels[static_cast<int>(task.ack)] +
             (task.affinity == Affinity{} ? "" : ", for " + std::to_string(raw(task.affinity))) +
             ")";
    case Task::What::reset:
      return "reset " + task.key + " (" + kLevels[static_cast<int>(task.ack)] + ")";
    case Task::What::raise:
      return "raise " + task.key + " to " + std::to_string(task.amount) + " shards";
    case Task::What::read:
      break;
  }
  return std::string(kReads[static_cast<int>(task.level)]) + " read of " + task.key;
}

void Workload::report(const Failure& failure) {
  if (failure) trace_.fail(time_.now(), failure.invariant, failure.what);
}

void Workload::on_done(const Task& task, Ack asked, Code code, Finality finality) {
  const Ack level = promised(asked);
  trace_.mark(task.op * 64 + static_cast<std::uint64_t>(code));
  trace_.say(time_.now(),
             [&] { return describe(task) + ": " + std::string(quipu::describe(code).name); });
  const Outcome outcome = quipu::describe(code).outcome;
  if (code == Code::no_quorum && task.what == Task::What::add && asked != Ack::quorum &&
      asked != Ack::by_default)
    fail(Invariant::eventual_add_needs_nobody,
         describe(task) + " was refused for want of a quorum");
  const KeyKind kind = ledger_.kind(task.key);
  if (code == Code::out_of_range && kind != KeyKind::big_sum)
    fail(Invariant::total_within_bounds, describe(task) + " was refused as out of range");
  if (outcome == Outcome::applied) {
    report(ledger_.on_acked(task.op, time_.now(), level));
    if (level != Ack::memory) check_disks(task, level);
  } else if (outcome == Outcome::not_applied && finality == Finality::final) {
    report(ledger_.on_refused(task.op, time_.now()));
  }
}

void Workload::on_raised(const Task& task, Code code) {
  trace_.say(time_.now(),
             [&] { return describe(task) + ": " + std::string(quipu::describe(code).name); });
  if (code != Code::ok) return;
  ShardIndex& shards = raised_.try_emplace(task.key, 1).first->second;
  shards = std::max(shards, static_cast<ShardIndex>(task.amount));
}

ShardIndex Workload::shards(const std::string& key) const {
  const auto at = raised_.find(key);
  return at == raised_.end() ? 1 : at->second;
}

void Workload::check_session(const Task& task) {
  if (ledger_.disks_lost_since(Instant::min()) == 0)
    fail(Invariant::session_is_kept, describe(task) + " was called expired");
}

// On the disks themselves, at the very moment of the ack; and on whose.
void Workload::check_disks(const Task& task, Ack level) {
  const KeyKind kind = ledger_.kind(task.key);
  if (task.what != Task::What::add || kind == KeyKind::signed_sum || kind == KeyKind::big_sum)
    return;
  const Ledger::Change& add = ledger_.change(task.op);
  if (ledger_.may_be_cleared(add, kNever)) return;
  const bool negative = kind == KeyKind::negative_witness;
  const std::size_t lost = ledger_.disks_lost_since(add.begun);
  std::vector<MemberIndex> holding = oracle_.holding(task.key, add.digit, negative);
  if (lost == 0 && holding.empty())
    fail(Invariant::disk_ack_is_on_a_disk, describe(task) + " was acked, but is on no disk");
  ledger_.on_held(task.op, time_.now(), std::move(holding));
  if (level != Ack::quorum) return;
  const std::size_t holders = oracle_.holders(task.key, add.digit, negative, add.begun);
  if (holders + lost >= config_.owners.majority()) return;
  fail(Invariant::quorum_ack_is_on_a_majority, describe(task) +
                                                   " was acked at quorum, but is on the disks of " +
                                                   std::to_string(holders) + " of its owners");
}

void Workload::on_value(const Task& task, const Value& value, Instant answered) {
  trace_.mark(static_cast<std::uint64_t>(value.value));
  trace_.say(time_.now(), [&] {
    return describe(task) + ": " + std::string(quipu::describe(value.code).name) + " " +
           std::to_string(value.value) + (value.complete ? ", complete" : "") + ", " +
           (value.age_ms == kUnknownAge ? "of unknown age"
                                        : std::to_string(value.age_ms) + " ms old");
  });
  if (value.code != Code::ok && value.code != Code::out_of_range) return;
  // What each level promises is not said of its answer.
  if (task.level == ReadLevel::by_default) return;
  if (task.level == ReadLevel::strong && value.shards < task.shards &&
      ledger_.disks_lost_since(Instant::min()) == 0)
    fail(Invariant::strong_read_has_acked,
         describe(task) + " summed " + std::to_string(value.shards) +
             " shards, where a majority knew of " + std::to_string(task.shards) + " when it began");
  report(ledger_.check_read(task.level, task.key, value, {task.begun, answered, time_.now()}));
  if (task.shown != 0) report(ledger_.check_fresh(task.key, task.shown, value, task.begun));
}

}  // namespace quipu::sim
