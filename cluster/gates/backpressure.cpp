#include "cluster/gates/backpressure.h"

#include <utility>

namespace quipu {

std::vector<MemberIndex> Backpressure::weigh(std::size_t backlog) {
  const auto above = [backlog](bool already, std::size_t limit) {
    return backlog > (already ? limit / 2 : limit);
  };
  const bool peers_waited = std::exchange(peers_wait_, above(peers_wait_, settings_.backlog_bytes));
  clients_wait_ = above(clients_wait_, settings_.unsynced_bytes);
  std::vector<MemberIndex> again;
  if (!peers_waited || peers_wait_) return again;
  for (MemberIndex member = 0; member < dropped_.size(); ++member) {
    if (!dropped_[member]) continue;
    dropped_[member] = false;
    again.push_back(member);
  }
  return again;
}

}  // namespace quipu
