#include "tests/simulator/network.h"

#include <cstring>

#include "protocol/keyed_hash.h"
#include "protocol/message_codec.h"

namespace quipu::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFastest = microseconds(50);
constexpr Duration kUsual = milliseconds(2);

}  // namespace

FrameType type_of(const std::string& frame) {
  std::uint16_t type = 0;
  std::memcpy(&type, frame.data() + 2, sizeof type);
  return FrameType{type};
}

Network::Network(Timeline& time, Trace& trace, Random random, const Options& options)
    : time_(time), trace_(trace), random_(random), nodes_(options.nodes) {
  // All are drawn, so that switching one off leaves the others as they were.
  const std::uint64_t breaks = 200 + random_.below(2000), delays = 500 + random_.below(5000),
                      loss = 1000 + random_.below(random_.below(6) == 0 ? 300'000 : 10'000),
                      doubles = 1000 + random_.below(50'000),
                      reorders = 1000 + random_.below(50'000);
  if (options.has(Knob::breaks)) breaks_ = breaks;
  if (options.has(Knob::delays)) delays_ = delays;
  if (options.has(Knob::loss)) loss_ = loss;
  if (options.has(Knob::doubles)) doubles_ = doubles;
  if (options.has(Knob::reorders)) reorders_ = reorders;
}

ConnId Network::connect(HostId from, Ears from_ears, HostId to, Ears to_ears) {
  const ConnId id{next_++};
  Conn& conn = conns_[id];
  conn.sides[0] = {from, std::move(from_ears), true, {}, {}, {}};
  conn.sides[1] = {to, std::move(to_ears), true, {}, {}, {}};
  return id;
}

Network::Side* Network::side(ConnId connection, HostId host, bool other) {
  const auto at = conns_.find(connection);
  if (at == conns_.end()) return nullptr;
  const bool first = (at->second.sides[0].host == host) != other;
  return &at->second.sides[first ? 0 : 1];
}

HostId Network::peer(ConnId connection, HostId of) {
  const Side* other = side(connection, of, true);
  return other == nullptr ? of : other->host;
}

bool Network::chance(std::uint64_t per_million) {
  return per_million > 0 && !kind_ && random_.below(1'000'000) < per_million;
}

Duration Network::spread(Duration least, Duration most) {
  return least + Duration(static_cast<std::int64_t>(
                     random_.below(static_cast<std::uint64_t>((most - least).count()) + 1)));
}

void Network::send(ConnId connection, HostId from, std::string bytes) {
  Side* to = side(connection, from, true);
  if (to == nullptr || !to->open || !side(connection, from, false)->open) return;
  if (cuts_.contains({from, to->host})) {
    to->stalled.push_back(std::move(bytes));
    return;
  }
  deliver(connection, *to, std::move(bytes), from < nodes_ && to->host < nodes_);
  if (chance(breaks_)) {
    inject("broken connection");
    break_connection(connection);
  }
}

void Network::deliver(ConnId id, Side& to, std::string bytes, bool between_nodes) {
  // A greeting comes first, or what follows it would be from nobody.
  const bool loose = between_nodes && !is_greeting(type_of(bytes));
  if (between_nodes && chance(loss_)) {
    inject("lost message");
    break_connection(id);
    return;
  }
  Duration delay = spread(kFastest, kUsual);
  if (chance(delays_)) {
    inject("delayed message");
    delay += spread(Duration::zero(), milliseconds(500));
  }
  // That "not applied" is the last word on what was sent once rests on TCP.
  if (loose && type_of(bytes) != FrameType::forward && chance(doubles_)) {
    inject("doubled message");
    const Instant again = time_.now() + delay + spread(kFastest, milliseconds(200));
    arrive(id, to.host, std::max(again, to.greeted), bytes);
  }
  if (loose && chance(reorders_)) {
    inject("reordered message");
    const Instant then = time_.now() + delay + spread(kFastest, milliseconds(50));
    arrive(id, to.host, std::max(then, to.greeted), std::move(bytes));
    return;
  }
  to.last_arrival = std::max(to.last_arrival, time_.now() + delay);
  if (between_nodes && !loose) to.greeted = to.last_arrival;
  arrive(id, to.host, to.last_arrival, std::move(bytes));
}

void Network::arrive(ConnId id, HostId host, Instant when, std::string bytes) {
  trace_.mark(static_cast<std::uint64_t>(when.time_since_epoch().count()));
  trace_.mark(hash64(HashKey{host}, bytes));
  time_.at(when, [this, id, host, bytes = std::move(bytes)]() mutable {
    Side* here = side(id, host, false);
    if (here != nullptr && here->open) here->ears.on_bytes(std::move(bytes));
  });
}

// What is on its way arrives or not, as chance has it: each side closes by itself.
void Network::break_connection(ConnId id) {
  Conn& conn = conns_.at(id);
  if (std::exchange(conn.breaking, true)) return;
  for (const Side& one : conn.sides) {
    const HostId host = one.host;
    time_.in(spread(Duration::zero(), milliseconds(loss_ > 0 ? 1000 : 3)), [this, id, host] {
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
  const Instant when = std::max(there->last_arrival, time_.now() + kUsual);
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
    const bool between_nodes = conn.sides[0].host < nodes_ && conn.sides[1].host < nodes_;
    for (Side& to : conn.sides) {
      for (std::string& bytes : std::exchange(to.stalled, {}))
        deliver(id, to, std::move(bytes), between_nodes);
    }
  }
}

}  // namespace quipu::sim
