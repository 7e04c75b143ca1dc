#include "tests/chaos/keys.h"

#include "tests/chaos/history.h"

namespace quipu::chaos {

Keys::Current& Keys::rotate(Current& current, std::string_view prefix, std::size_t most,
                            std::deque<std::string>& recent) {
  if (current.key.empty() || current.adds == most) {
    ++made_;
    current = {std::string(prefix) + std::to_string(made_), 0, made_ % 3 == 0};
    recent.push_back(current.key);
    if (recent.size() > kRecent) recent.pop_front();
  }
  return current;
}

Keys::Next Keys::next_witness(Random& random) {
  const std::lock_guard lock(mutex_);
  Current& at =
      rotate(witnesses_[random.below(kWitnesses)], kWitnessPrefix, kAddsPerWitness, recent_);
  return {at.key, witness_amount(at.adds++), at.ends};
}

Keys::Next Keys::next_plain(Random& random) {
  const std::lock_guard lock(mutex_);
  Current& at = rotate(plain_[random.below(kPlain)], "plain:", kAddsPerPlain, recent_);
  ++at.adds;
  constexpr std::int64_t kLeast = -20;
  return {at.key, kLeast + static_cast<std::int64_t>(random.below(61))};
}

Keys::Next Keys::next_counted() {
  const std::lock_guard lock(mutex_);
  Current& at = rotate(counted_, "counted:", kAddsPerCounted, recent_);
  ++at.adds;
  return {at.key, 1};
}

Keys::Next Keys::next_of_other_kind(Random& random) {
  constexpr std::array kPrefixes{kDistinctPrefix, kFrequencyPrefix, kTopPrefix};
  const std::lock_guard lock(mutex_);
  const std::size_t number = random.below(kOfOtherKinds);
  const std::string_view prefix = kPrefixes[number % kPrefixes.size()];
  const bool items = counts_items(kind_of(prefix));
  Current& at =
      rotate(of_other_kinds_[number], prefix,
             items ? kItems.size() * kAddsPerItem : kAddsPerElements, recent_of_other_kinds_);
  const std::size_t add = at.adds++;
  if (!items) return {at.key, 1, at.ends, element_prefix_ + std::to_string(add * 2 / 3)};
  return {at.key, witness_amount(add / kItems.size()), at.ends,
          std::string(kItems[add % kItems.size()])};
}

std::string Keys::any_sum(Random& random) const {
  const std::lock_guard lock(mutex_);
  if (recent_.empty()) return "plain:0";
  const Current* current =
      random.below(2) == 0 ? &witnesses_[random.below(kWitnesses)] : &plain_[random.below(kPlain)];
  if (random.below(4) != 0 && !current->key.empty()) return current->key;
  return recent_[random.below(recent_.size())];
}

std::string Keys::any_of_other_kind(Random& random) const {
  const std::lock_guard lock(mutex_);
  if (recent_of_other_kinds_.empty()) return std::string(kTopPrefix) + "0";
  const Current& current = of_other_kinds_[random.below(kOfOtherKinds)];
  if (random.below(4) != 0 && !current.key.empty()) return current.key;
  return recent_of_other_kinds_[random.below(recent_of_other_kinds_.size())];
}

}  // namespace quipu::chaos
