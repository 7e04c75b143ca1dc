// oracle_repairs.cpp: what a node reports as repaired is on its disk.
#include <algorithm>

#include "tests/simulator/oracle.h"

namespace quipu::sim {

// A repair begins with the root (where more is dirty than ever is here, it does not). One that
// is of nothing new is never reported.
void Oracle::on_pull(const Pull& pull, Repairs& repairs) {
  if (pull.kind != PullKind::root) return;
  repairs.first = pull.id;
  if (repairs.lost > repairs.reported) repairs.open.push_back({pull.id, repairs.lost});
}

void Oracle::on_pulled(Pulled& pulled, Repairs& repairs) {
  if (pulled.states.empty() || repairs.open.empty()) return;
  Repairs::Repair& newest = repairs.open.back();
  if (newest.first == repairs.first && pulled.id >= newest.first)
    newest.told[pulled.id].push_back(std::move(pulled.states));
}

// Whoever lost an outbox relies on it that all of that has arrived for good. Of several
// repairs nobody outside can tell which is meant.
void Oracle::check_repaired(MemberIndex by, std::uint64_t epoch, Repairs& repairs) {
  std::deque<Repairs::Repair>& open = repairs.open;
  const std::uint64_t before = std::exchange(repairs.reported, epoch);
  // Some store was replaced, and it repairs once more what it had reported.
  if (epoch < before) open.push_front({0, repairs.lost});
  if (epoch <= before) return;
  std::erase_if(open, [&](const Repairs::Repair& one) { return one.lost < epoch; });
  const auto durable = [&](const Delta& delta) {
    bool all = true;
    delta.for_each([&](const DeltaEntry& entry) { all = all && holds(by, entry); });
    return all;
  };
  const auto arrived = [&](const auto& told) { return std::ranges::any_of(told.second, durable); };
  if (open.size() == 1 && !std::ranges::all_of(open.front().told, arrived))
    trace_.fail(time_.now(), Invariant::acked_is_durable,
                config_.members[by].name + " reported a repair before all of it was on its disk");
  if (!open.empty()) open.pop_front();
  std::erase_if(open, [&](const Repairs::Repair& one) { return one.lost == epoch; });
}

}  // namespace quipu::sim
