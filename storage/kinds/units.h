// units.h: which units of a body changed: some, or all.
//
// A unit is the smallest piece of a body that changes by itself: a register, a cell or a slot.
// Records, outboxes and messages need only the changed units of a body (KindRules::extract).
//
// Bounded: more than 64 units are "all", or for a large body, more than one for each 12 of its
// bytes. From there on the whole body travels. So a change costs at most 12 bytes of body for each
// unit. In memory there may be twice as many units until they are sorted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quipu {

using Unit = std::uint32_t;

class Units {
 public:
  [[nodiscard]] static Units every() {
    Units all;
    all.add_all();
    return all;
  }

  // They are of a body of this size. It may grow.
  void are_of(std::size_t body_bytes) { most_ = std::max(most_, body_bytes / 12); }

  void add(Unit unit) {
    if (all_) return;
    if (some_.size() < kFew) return add_to_few(unit);
    some_.push_back(unit);
    if (some_.size() >= 2 * settled_) settle();
    if (settled_ > most_) add_all();
  }
  void add_all() {
    all_ = true;
    some_.clear();
    settled_ = 0;
  }
  void add(const Units& other) {
    most_ = std::max(most_, other.most_);
    if (other.all_) return add_all();
    for (const Unit unit : other.some_) add(unit);
  }

  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] bool none() const { return !all_ && some_.empty(); }
  // Ascending, each once. REQUIRES: !all().
  [[nodiscard]] std::span<const Unit> some() const {
    settle();
    return some_;
  }

  // In memory, beside the object itself. Changes only with add().
  [[nodiscard]] std::size_t bytes() const { return some_.capacity() * sizeof(Unit); }

  bool operator==(const Units& other) const {
    return all_ == other.all_ && std::ranges::equal(some(), other.some());
  }

 private:
  static constexpr std::size_t kFew = 64;

  void add_to_few(Unit unit) {
    const auto at = std::lower_bound(some_.begin(), some_.end(), unit);
    if (at != some_.end() && *at == unit) return;
    some_.insert(at, unit);
    settled_ = some_.size();
  }
  void settle() const {
    if (settled_ == some_.size()) return;
    std::ranges::sort(some_);
    some_.erase(std::unique(some_.begin(), some_.end()), some_.end());
    settled_ = some_.size();
  }

  bool all_ = false;
  std::size_t most_ = kFew;
  // Many are sorted only when they are looked at, and whenever they have doubled.
  mutable std::vector<Unit> some_;
  mutable std::size_t settled_ = 0;  // ascending, each once
};

}  // namespace quipu
