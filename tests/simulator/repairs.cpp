#include "tests/simulator/repairs.h"

#include <utility>

namespace quipu::sim {

// A repair begins with the root (where more is dirty than ever is here, it does not). One that
// is of nothing new is never reported.
void Repairs::on_pull(const Pull& pull) {
  if (pull.kind != PullKind::root) return;
  first_ = pull.id;
  if (lost_ > reported_) open_.push_back({pull.id, lost_});
}

void Repairs::on_pulled(Pulled& pulled) {
  if (pulled.states.empty() || open_.empty()) return;
  Repair& newest = open_.back();
  if (newest.first == first_ && pulled.id >= newest.first)
    newest.told[pulled.id].push_back(std::move(pulled.states));
}

// Whoever lost an outbox relies on it that all of that has arrived for good. Of several
// repairs nobody outside can tell which is meant.
bool Repairs::on_reported(std::uint64_t epoch, const Holds& holds) {
  const std::uint64_t before = std::exchange(reported_, epoch);
  // Some store was replaced, and it repairs once more what it had reported.
  if (epoch < before) open_.push_front({0, lost_});
  if (epoch <= before) return true;
  std::erase_if(open_, [&](const Repair& one) { return one.lost < epoch; });
  const auto durable = [&](const Delta& delta) {
    bool all = true;
    delta.for_each([&](const DeltaEntry& entry) { all = all && holds(entry); });
    return all;
  };
  const auto arrived = [&](const auto& told) { return std::ranges::any_of(told.second, durable); };
  const bool right = open_.size() != 1 || std::ranges::all_of(open_.front().told, arrived);
  if (!open_.empty()) open_.pop_front();
  std::erase_if(open_, [&](const Repair& one) { return one.lost == epoch; });
  return right;
}

}  // namespace quipu::sim
