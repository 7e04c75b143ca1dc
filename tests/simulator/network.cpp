#include "tests/simulator/network.h"

#include <vector>

namespace quipu::sim {

ConnId Network::connect(HostId from, Ears from_ears, HostId to, Ears to_ears) {
  const ConnId id{next_++};
  Conn& conn = conns_[id];
  conn.sides[0] = {from, std::move(from_ears), true, {}, {}};
  conn.sides[1] = {to, std::move(to_ears), true, {}, {}};
  return id;
}

Network::Side* Network::side(ConnId connection, HostId host, bool other) {
  const auto at = conns_.find(connection);
  if (at == conns_.end()) return nullptr;
  const bool first = (at->second.sides[0].host == host) != other;
  return &at->second.sides[first ? 0 : 1];
}

void Network::send(ConnId connection, HostId from, std::string bytes) {
  Side* to = side(connection, from, true);
  if (to == nullptr || !to->open || !side(connection, from, false)->open) return;
  if (!reachable(from, to->host)) {
    to->stalled.push_back(std::move(bytes));
    return;
  }
  const bool breaks = faults_.break_rate > 0 &&
                      static_cast<double>(random_.below(1'000'000)) < faults_.break_rate * 1e6;
  deliver(connection, conns_.at(connection), *to, std::move(bytes));
  if (breaks) break_connection(connection);
}

void Network::deliver(ConnId id, Conn&, Side& to, std::string bytes) {
  const auto spread = static_cast<std::uint64_t>((faults_.delay_max - faults_.delay_min).count());
  const Duration delay =
      faults_.delay_min + Duration(static_cast<std::int64_t>(random_.below(spread + 1)));
  to.last_arrival = std::max(to.last_arrival, time_.now() + delay);
  const HostId host = to.host;
  time_.at(to.last_arrival, [this, id, host, bytes = std::move(bytes)]() mutable {
    Side* here = side(id, host, false);
    if (here != nullptr && here->open) here->ears.on_bytes(std::move(bytes));
  });
}

// What is on its way arrives or not, as chance has it: each side closes by itself.
void Network::break_connection(ConnId id) {
  for (const Side& one : conns_.at(id).sides) {
    const HostId host = one.host;
    time_.in(Duration(static_cast<std::int64_t>(random_.below(3'000'000))), [this, id, host] {
      Side* here = side(id, host, false);
      if (here == nullptr || !here->open) return;
      here->open = false;
      here->ears.on_closed();
    });
  }
}

void Network::close(ConnId connection, HostId from) {
  Side* here = side(connection, from, false);
  if (here == nullptr || !here->open) return;
  here->open = false;
  Side* there = side(connection, from, true);
  const HostId host = there->host;
  const Instant when = std::max(there->last_arrival, time_.now() + faults_.delay_max);
  time_.at(when, [this, connection, host] {
    Side* other = side(connection, host, false);
    if (other == nullptr) return;
    if (std::exchange(other->open, false)) other->ears.on_closed();
    conns_.erase(connection);
  });
}

void Network::close_all(HostId host) {
  std::vector<ConnId> mine;
  for (const auto& [id, conn] : conns_) {
    if (conn.sides[0].host == host || conn.sides[1].host == host) mine.push_back(id);
  }
  for (const ConnId id : mine) close(id, host);
}

void Network::heal() {
  cuts_.clear();
  for (auto& [id, conn] : conns_) {
    for (Side& to : conn.sides) {
      for (std::string& bytes : std::exchange(to.stalled, {}))
        deliver(id, conn, to, std::move(bytes));
    }
  }
}

}  // namespace quipu::sim
