// network.h: TCP as it fails: bytes arrive in order or not at all, delays vary,
// connections break and take with them what was on its way, and a cut stalls
// everything until it heals or somebody loses patience.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "protocol/random.h"
#include "tests/simulator/timeline.h"

namespace quipu::sim {

using HostId = std::size_t;  // nodes first, then clients
enum class ConnId : std::uint64_t {};

// One end of a connection, as its host sees it.
struct Ears {
  std::function<void(std::string)> on_bytes;
  std::function<void()> on_closed;
};

struct NetworkFaults {
  Duration delay_min{std::chrono::microseconds(50)};
  Duration delay_max{std::chrono::milliseconds(2)};
  double break_rate = 0;  // of messages after which the connection breaks
};

class Network {
 public:
  Network(Timeline& time, Random random, NetworkFaults faults)
      : time_(time), random_(random), faults_(faults) {}

  // Both ears exist when this returns; bytes flow from then on.
  ConnId connect(HostId from, Ears from_ears, HostId to, Ears to_ears);
  void send(ConnId connection, HostId from, std::string bytes);
  // The other side learns it a little later.
  void close(ConnId connection, HostId from);
  // The host died: its peers see their connections reset.
  void close_all(HostId host);

  [[nodiscard]] bool reachable(HostId a, HostId b) const {
    return !cuts_.contains(std::minmax(a, b));
  }
  void cut(HostId a, HostId b) { cuts_.insert(std::minmax(a, b)); }
  void heal();
  void be_kind() { faults_.break_rate = 0; }

 private:
  struct Side {
    HostId host{};
    Ears ears;
    bool open = true;
    Instant last_arrival{};
    std::deque<std::string> stalled;  // sent to it during a cut
  };
  struct Conn {
    Side sides[2];
  };

  Side* side(ConnId connection, HostId host, bool other);
  void deliver(ConnId id, Conn& conn, Side& to, std::string bytes);
  void break_connection(ConnId id);

  Timeline& time_;
  Random random_;
  NetworkFaults faults_;
  std::map<ConnId, Conn> conns_;
  std::set<std::pair<HostId, HostId>> cuts_;
  std::uint64_t next_ = 1;
};

}  // namespace quipu::sim
