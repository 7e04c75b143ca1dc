#include "tests/simulator/ledger.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

#include "storage/lattice.h"
#include "tests/simulator/timeline.h"

namespace quipu::sim {
namespace {

std::string clock(Instant at) {
  if (at == kNever) return "never";
  char text[32];
  std::snprintf(text, sizeof text, "%.6f",
                std::chrono::duration<double>(at - Timeline::kStart).count());
  return text;
}

constexpr std::uint32_t kCompleteMs = 300;
constexpr std::uint16_t kCrowdOneIn = 1024;  // of the partitions takes counters, where they crowd
constexpr std::size_t kLeafOneIn = 6;        // of those counters is in one leaf of its partition

std::string number(Wide value) {
  const bool negative = value < 0;
  std::string text;
  for (Wide left = negative ? -value : value; left > 0 || text.empty(); left /= 10)
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
  return negative ? "-" + text : text;
}

constexpr std::size_t kDigits = 31;                         // of a sum
constexpr std::uint64_t kTwiceOrMore = 0xaaaaaaaaaaaaaaaa;  // the greater bit of each

std::uint64_t bits_of(std::size_t digits) {
  return (std::uint64_t{1} << (2 * std::min(digits, kDigits))) - 1;
}

}  // namespace

std::uint64_t digit_of(std::int64_t value, std::size_t digit) {
  return static_cast<std::uint64_t>(value) >> (2 * digit) & 3;
}

bool Ledger::Change::acked_before(Ack level, Instant when) const {
  return acked[static_cast<std::size_t>(level)] < when;
}

// ---- what was asked, and answered ----

std::string Ledger::open_key(KeyKind kind) {
  static constexpr const char* kNames[] = {"witness:", "negative:", "signed:", "big:"};
  // A leaf takes some 260,000 tries, so they are cheap.
  const bool in_leaf = leaves_crowd_ && names_.size() % kLeafOneIn == 0;
  const auto crowds = [&](const Placement& place) {
    return raw(place.partition()) % kCrowdOneIn == 0 && (!in_leaf || place.leaf() == 0);
  };
  std::string name = kNames[static_cast<std::size_t>(kind)];
  const std::size_t prefix = name.size();
  do {
    name.resize(prefix + std::numeric_limits<std::uint64_t>::digits10);
    char* const end = name.data() + name.size();
    name.resize(static_cast<std::size_t>(
        std::to_chars(name.data() + prefix, end, next_name_++).ptr - name.data()));
  } while (crowded_ && !crowds(Placement{*crowded_, {name, 0}}));
  Key& key = keys_[name];
  key.kind = kind;
  key.doubled = next_name_ % 2 == 0;
  names_.push_back(name);
  return name;
}

bool Ledger::full(const std::string& key) const {
  return keys_.at(key).adds.size() >= kAddsPerWitness;
}

Ledger::OpId Ledger::begin(Instant now, OpKind kind, const std::string& key) {
  Change change;
  change.kind = kind;
  change.key = key;
  change.of = &keys_.at(key);
  change.begun = now;
  change.of->changed = now;
  changes_.push_back(std::move(change));
  return changes_.size() - 1;
}

Ledger::OpId Ledger::begin_add(Instant now, const std::string& key, std::int64_t amount) {
  const OpId id = begin(now, OpKind::add, key);
  Change& change = changes_[id];
  Key& home = *change.of;
  change.digit = home.adds.size();
  const std::size_t place = 2 * std::min<std::size_t>(change.digit, 30);
  const std::int64_t digit = std::int64_t{home.doubled ? 2 : 1} << place;
  switch (home.kind) {
    case KeyKind::witness:
      change.amount = digit;
      break;
    case KeyKind::negative_witness:
      change.amount = -digit;
      break;
    default:
      change.amount = amount;
  }
  home.adds.push_back(id);
  return id;
}

Ledger::OpId Ledger::begin_reset(Instant now, const std::string& key) {
  const OpId id = begin(now, OpKind::reset, key);
  changes_[id].of->resets.push_back(id);
  return id;
}

Failure Ledger::on_acked(OpId id, Instant now, Ack level) {
  Change& change = changes_[id];
  change.of->changed = now;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(level); ++i)
    change.acked[i] = std::min(change.acked[i], now);
  if (refused_for_good(change))
    return {Invariant::answers_agree, say(change, "was acked after it had been refused for good")};
  return {};
}

Failure Ledger::on_refused(OpId id, Instant now) {
  Change& change = changes_[id];
  change.of->changed = now;
  change.refused = std::min(change.refused, now);
  if (change.kind == OpKind::add && change.digit < kDigits)
    change.of->refused |= std::uint64_t{1} << (2 * change.digit);
  // What only a memory had may be refused anew, and what only a disk had that forgot it.
  const Instant kept = change.acked[static_cast<std::size_t>(Ack::disk)];
  if (kept != kNever && disks_lost_since(kept) == 0)
    return {Invariant::answers_agree, say(change, "was refused for good after it had been acked")};
  return {};
}

void Ledger::on_carried_out(OpId id, Instant now, MemberIndex executor) {
  Change& change = changes_[id];
  if (change.carried_out != kNever) return;
  change.of->changed = change.carried_out = now;
  change.executor = executor;
}

void Ledger::on_held(OpId id, Instant now, std::vector<MemberIndex> holders) {
  changes_[id].held = now;
  changes_[id].holders = std::move(holders);
}

// A disk may have lost the refusal's record since the change began, and no other had it.
bool Ledger::refused_for_good(const Change& change) const {
  return change.refused != kNever && disks_lost_since(change.begun) == 0;
}

std::size_t Ledger::disks_lost_since(Instant when) const {
  return static_cast<std::size_t>(
      std::count_if(disks_lost_.begin(), disks_lost_.end(),
                    [when](const auto& lost) { return lost.first >= when; }));
}

std::size_t Ledger::on_copy_back(Instant now) {
  backs_.push_back({now, kNever});
  all_changed_ = now;
  return backs_.size() - 1;
}

bool Ledger::fooled(Instant from, Instant to) const {
  return std::any_of(backs_.begin(), backs_.end(),
                     [&](const Back& back) { return back.from <= to && from <= back.to; });
}

std::string Ledger::times(const Change& change) const {
  std::string text = "(begun at " + clock(change.begun);
  static constexpr const char* kLevels[] = {"memory", "disk", "quorum"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (change.acked[i] != kNever)
      text += std::string(", acked at ") + kLevels[i] + " at " + clock(change.acked[i]);
  }
  if (change.refused != kNever) text += ", refused at " + clock(change.refused);
  if (change.seen != kNever) text += ", first seen by a strong read at " + clock(change.seen);
  if (change.seen_cleared != kNever) text += ", cleared by " + clock(change.seen_cleared);
  return text + ")";
}

std::string Ledger::say(const Change& change, const std::string& what) const {
  if (change.kind == OpKind::reset)
    return "the reset of " + change.key + " " + what + " " + times(change);
  return "add " + std::to_string(change.digit) + " (" + std::to_string(change.amount) + ") of " +
         change.key + " " + what + " " + times(change);
}

// ---- what a total must, may and cannot hold ----

bool Ledger::may_be_cleared(const Change& add, Instant by) const {
  const std::vector<OpId>& resets = add.of->resets;
  return std::any_of(resets.begin(), resets.end(), [&](OpId id) {
    const Change& reset = changes_[id];
    return reset.begun < by && !refused_for_good(reset) && !ended_before(reset, add.begun);
  });
}

// Nothing that is added from then on can be cleared by it. One without a firm answer may be
// carried out at any time; one that only a memory had, or a disk that was lost, again.
bool Ledger::ended_before(const Change& reset, Instant when) const {
  const Instant told = reset.acked[static_cast<std::size_t>(Ack::memory)];
  return reset.acked[static_cast<std::size_t>(Ack::disk)] <= when ||
         (told <= when && last_crash_ < told && disks_lost_since(told) == 0) ||
         (reset.carried_out <= when && !disk_lost_since(reset.executor, reset.carried_out));
}

bool Ledger::must_hold(const Change& add, Instant begun, Instant ended) const {
  const bool in = add.acked_before(Ack::quorum, begun) || add.seen < begun;
  return in && !may_be_cleared(add, ended);
}

bool Ledger::must_be_clear(const Change& add, const Key& key, Instant begun) const {
  if (add.seen_cleared < begun) return true;
  return std::any_of(key.resets.begin(), key.resets.end(), [&](OpId id) {
    const Change& reset = changes_[id];
    return reset.acked_before(Ack::quorum, begun) &&
           !fooled(reset.begun, reset.acked[static_cast<std::size_t>(Ack::quorum)]) &&
           (add.acked_before(Ack::quorum, reset.begun) || add.seen < reset.begun);
  });
}

bool Ledger::disk_lost_since(MemberIndex whose, Instant when) const {
  return std::any_of(disks_lost_.begin(), disks_lost_.end(),
                     [&](const auto& lost) { return lost.first >= when && lost.second == whose; });
}

// Some disk that had it when it was acked has not been lost since.
bool Ledger::held_still(const Change& add) const {
  return std::any_of(add.holders.begin(), add.holders.end(),
                     [&](MemberIndex holder) { return !disk_lost_since(holder, add.held); });
}

// And no disk went back since, which may be noticed by nobody: it takes what it forgot for
// complete.
bool Ledger::surely_held(const Change& add) const {
  const bool back = std::any_of(backs_.begin(), backs_.end(),
                                [&](const Back& one) { return one.from >= add.begun; });
  return disks_lost_since(add.begun) == 0 || (held_still(add) && !back);
}

// What may be lost with a process or a disk, if that happened since.
bool Ledger::survives(const Change& add) const {
  if (add.acked_before(Ack::quorum, kNever) || add.seen != kNever) return true;
  if (const Instant told = add.acked[static_cast<std::size_t>(Ack::memory)];
      told != kNever && told > quiet_)
    return true;
  if (held_still(add)) return true;
  if (disks_lost_since(add.begun) > 0) return false;
  if (add.acked_before(Ack::disk, kNever)) return true;
  return add.applied() && last_crash_ < add.begun;
}

// A witness key's total as a number in base 4.
std::int64_t Ledger::digits(const Key& key, const Value& value) {
  const std::int64_t sum = key.kind == KeyKind::negative_witness ? -value.value : value.value;
  return key.doubled ? sum >> 1 : sum;
}

Failure Ledger::check_digits(const Key& key, const Value& value) const {
  if (key.doubled && value.value % 2 != 0)
    return {Invariant::counts_only_what_was_asked,
            std::to_string(value.value) + " is odd, though all adds were of even amounts"};
  const std::int64_t sum = digits(key, value);
  // All at once, since there is seldom anything to be said.
  const std::uint64_t in = static_cast<std::uint64_t>(sum) & bits_of(kDigits);
  const std::uint64_t suspect = ~bits_of(key.adds.size()) | kTwiceOrMore | key.refused;
  if ((in & suspect) == 0) return {};
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    const std::uint64_t times = digit_of(sum, digit);
    if (times == 0) continue;
    if (digit >= key.adds.size()) {
      return {Invariant::counts_only_what_was_asked, "add " + std::to_string(digit) +
                                                         " was never made, yet it is counted in " +
                                                         std::to_string(value.value)};
    }
    const Change& add = changes_[key.adds[digit]];
    if (times > 1) {
      return {Invariant::never_counts_twice,
              say(add, "is counted " + std::to_string(times) + " times or more")};
    }
    if (refused_for_good(add))
      return {Invariant::refused_is_not_counted, say(add, "was refused, yet it is counted")};
  }
  return {};
}

Failure Ledger::check_strong(const Key& key, const Value& value, Instant begun, Instant ended) {
  const std::int64_t sum = digits(key, value);
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    Change& add = changes_[key.adds[digit]];
    const bool in = digit_of(sum, digit) == 1;
    if (!in && must_hold(add, begun, ended)) {
      const bool acked = add.acked_before(Ack::quorum, begun);
      return {acked ? Invariant::strong_read_has_acked : Invariant::strong_read_is_monotone,
              say(add, "is missing in a strong read that began at " + clock(begun))};
    }
    if (in && must_be_clear(add, key, begun)) {
      return {Invariant::quorum_reset_clears,
              say(add, "is back in a strong read that began at " + clock(begun))};
    }
    add.of->changed = ended;
    if (in) {
      add.seen = std::min(add.seen, ended);
    } else if (add.acked_before(Ack::quorum, begun) || add.seen < begun) {
      add.seen_cleared = std::min(add.seen_cleared, ended);
    }
  }
  return {};
}

// P5: it misses nothing that was acked before its age began; except what was lost
// since, or may have been with a memory.
Failure Ledger::check_complete(const Key& key, const Value& value, const Times& read) const {
  // What is not complete may be of a copy that is being filled, or that came back; else its
  // age is as true.
  const bool filled = disks_lost_.empty() || read.by_owner;
  if (!value.complete && (value.age_ms == kUnknownAge || !filled || !backs_.empty())) return {};
  if (value.complete && value.age_ms > kCompleteMs) {
    return {Invariant::complete_read_is_complete,
            "a read says complete, though its age is unknown or above three intervals: " +
                std::to_string(value.age_ms) + " ms"};
  }
  // Clocks drift, and ages are cut to milliseconds.
  const auto age = std::chrono::milliseconds(value.age_ms + 2 + value.age_ms / 1000);
  const Instant as_of = read.answered - age;
  const std::int64_t sum = digits(key, value);
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const Change& add = changes_[key.adds[digit]];
    const bool kept = last_crash_ < add.begun && disks_lost_since(add.begun) == 0;
    if (digit_of(sum, digit) == 1 || !add.acked_before(kept ? Ack::memory : Ack::disk, as_of))
      continue;
    if (may_be_cleared(add, read.ended) || !surely_held(add)) continue;
    return {Invariant::complete_read_is_complete,
            say(add, "is missing in a read that was answered at " + clock(read.answered) +
                         " and said: " + (value.complete ? "complete, " : "") +
                         std::to_string(value.age_ms) + " ms old")};
  }
  return {};
}

template <class Certain>
Failure Ledger::check_bounds(const std::string& name, const Key& key, const Value& value,
                             Instant ended, Certain&& certain) const {
  Wide least = 0, most = 0;
  for (const OpId id : key.adds) {
    const Change& add = changes_[id];
    if (refused_for_good(add) || add.begun >= ended) continue;
    const bool in = certain(add) && !may_be_cleared(add, ended);
    if (in || add.amount < 0) least += add.amount;
    if (in || add.amount > 0) most += add.amount;
  }
  if (value.code == Code::out_of_range) {
    if (narrow(least) && narrow(most)) {
      return {Invariant::total_within_bounds, name +
                                                  " was said to be out of range, but is between " +
                                                  number(least) + " and " + number(most)};
    }
    return {};
  }
  if (least <= value.value && value.value <= most) return {};
  return {Invariant::total_within_bounds, name + " was read as " + std::to_string(value.value) +
                                              ", but is between " + number(least) + " and " +
                                              number(most)};
}

Failure Ledger::check_read(ReadLevel level, const std::string& name, const Value& value,
                           const Times& times) {
  const auto& [begun, answered, ended, by_owner] = times;
  const Key& key = keys_.at(name);
  const bool strong = level == ReadLevel::strong;
  if (key.kind == KeyKind::signed_sum || key.kind == KeyKind::big_sum) {
    return check_bounds(name, key, value, ended, [&](const Change& add) {
      return strong && !fooled(begun, ended) && add.acked_before(Ack::quorum, begun);
    });
  }
  if (value.code != Code::ok)
    return {Invariant::total_within_bounds, name + " cannot be read: " + value.detail};
  if (Failure wrong = check_digits(key, value)) return wrong;
  if (strong) return fooled(begun, ended) ? Failure{} : check_strong(key, value, begun, ended);
  return check_complete(key, value, times);
}

// Where no owner answered for a shard, the age is unknown.
Failure Ledger::check_fresh(const std::string& name, std::uint32_t shown, const Value& value,
                            Instant begun) const {
  if (value.code != Code::ok || value.age_ms == kUnknownAge || disks_lost_since(begun) > 0)
    return {};
  const Key& key = keys_.at(name);
  const std::int64_t sum = digits(key, value);
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const Change& add = changes_[key.adds[digit]];
    if ((shown >> digit & 1) == 0 || digit_of(sum, digit) == 1) continue;
    if (may_be_cleared(add, kNever)) continue;
    return {Invariant::fresh_read_is_fresh,
            say(add, "was on each owner's disk, and is missing in a fresh read that began at " +
                         clock(begun))};
  }
  return {};
}

Failure Ledger::check_readable(const std::string& name, std::uint32_t always, std::uint32_t ever,
                               Instant now) const {
  const Key& key = keys_.at(name);
  if (fooled(now, now)) return {};
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const Change& add = changes_[key.adds[digit]];
    const bool forgotten = std::any_of(backs_.begin(), backs_.end(), [&](const Back& back) {
      return !back.renamed && back.from >= add.begun;
    });
    if (forgotten) continue;
    if ((always >> digit & 1) == 0 && must_hold(add, now, now))
      return {Invariant::every_majority_has_all,
              say(add, "is missing in what some majority would answer at " + clock(now))};
    if ((ever >> digit & 1) != 0 && must_be_clear(add, key, now))
      return {Invariant::every_majority_has_all,
              say(add, "was cleared, and is in what some majority would answer at " + clock(now))};
  }
  return {};
}

Failure Ledger::check_final(const std::string& name, const Value& value, Instant now) const {
  const Key& key = keys_.at(name);
  if (key.kind == KeyKind::signed_sum || key.kind == KeyKind::big_sum) {
    Failure wrong =
        check_bounds(name, key, value, kNever, [&](const Change& add) { return survives(add); });
    if (wrong) wrong.invariant = Invariant::nothing_acked_is_lost;
    return wrong;
  }
  if (value.code != Code::ok)
    return {Invariant::nothing_acked_is_lost, name + " cannot be read: " + value.detail};
  if (Failure wrong = check_digits(key, value)) return wrong;
  const std::int64_t sum = digits(key, value);
  for (std::size_t digit = 0; digit < key.adds.size(); ++digit) {
    const Change& add = changes_[key.adds[digit]];
    const bool in = digit_of(sum, digit) == 1;
    if (!in && survives(add) && !may_be_cleared(add, kNever))
      return {Invariant::nothing_acked_is_lost, say(add, "is lost")};
    if (in && must_be_clear(add, key, now))
      return {Invariant::quorum_reset_clears, say(add, "is back in the end")};
  }
  return {};
}

}  // namespace quipu::sim
