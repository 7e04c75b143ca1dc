#include "tests/simulator/ledger.h"

namespace quipu::sim {
namespace {

std::uint64_t digit_of(std::int64_t value, std::size_t digit) {
  return static_cast<std::uint64_t>(value) >> (2 * digit) & 3;
}

std::string say(const std::string& key, std::size_t digit, const char* what) {
  return "add " + std::to_string(digit) + " of " + key + " " + what;
}

}  // namespace

Ledger::AddId Ledger::begin_add(Instant, Ack ack) {
  if (current_.empty() || adds_.at(current_).size() == kAddsPerWitness) {
    current_ = "witness:" + std::to_string(adds_.size());
  }
  std::vector<Add>& adds = adds_[current_];
  adds.push_back({ack, std::nullopt, false});
  return {current_, adds.size() - 1};
}

void Ledger::end_add(const AddId& id, Instant, const Status& status) {
  adds_.at(id.key)[id.digit].outcome = status.outcome();
  if (status.outcome() == Outcome::applied) ++acknowledged_;
  if (status.outcome() == Outcome::unknown) ++doubtful_;
}

// No value may hold an add twice, one never made, or one that certainly failed.
std::string Ledger::check_possible(const std::string& key, std::int64_t value) const {
  const std::vector<Add>& adds = adds_.at(key);
  for (std::size_t digit = 0; digit < 31; ++digit) {
    const std::uint64_t times = digit_of(value, digit);
    if (times == 0) continue;
    if (digit >= adds.size()) return say(key, digit, "was never made, yet it is counted");
    if (times > 1) return say(key, digit, "is counted more than once");
    if (adds[digit].outcome == Outcome::not_applied)
      return say(key, digit, "was refused, yet it is counted");
  }
  return {};
}

Ledger::ReadId Ledger::begin_strong_read(const std::string& key) const {
  ReadId id{key, {}};
  for (const Add& add : adds_.at(key)) {
    id.must.push_back(add.seen || (add.ack == Ack::quorum && add.outcome == Outcome::applied));
  }
  return id;
}

std::string Ledger::end_strong_read(const ReadId& id, std::int64_t value) {
  if (std::string wrong = check_possible(id.key, value); !wrong.empty())
    return "strong read: " + wrong;
  std::vector<Add>& adds = adds_.at(id.key);
  for (std::size_t digit = 0; digit < adds.size(); ++digit) {
    const bool there = digit_of(value, digit) == 1;
    if (there) adds[digit].seen = true;
    if (!there && digit < id.must.size() && id.must[digit]) {
      return say(
          id.key, digit,
          "was acknowledged at quorum, or seen by an earlier strong read, and is missing in one");
    }
  }
  return {};
}

std::string Ledger::check_final(const std::string& key, std::int64_t value, bool disk_lost) const {
  if (std::string wrong = check_possible(key, value); !wrong.empty()) return wrong;
  const std::vector<Add>& adds = adds_.at(key);
  for (std::size_t digit = 0; digit < adds.size(); ++digit) {
    const Add& add = adds[digit];
    const bool safe =
        add.seen || (add.outcome == Outcome::applied &&
                     (add.ack == Ack::quorum || (add.ack == Ack::disk && !disk_lost)));
    if (safe && digit_of(value, digit) == 0) return say(key, digit, "was acknowledged and is lost");
  }
  return {};
}

std::vector<std::string> Ledger::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, adds] : adds_) keys.push_back(key);
  return keys;
}

}  // namespace quipu::sim
