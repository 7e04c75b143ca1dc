#include "tests/simulator/network.h"

#include <algorithm>
#include <cstring>

#include "protocol/message_codec.h"

namespace quipu::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFastestLink = microseconds(50);
constexpr Duration kUsual = milliseconds(2);
constexpr std::uint64_t kGreetingsRisk = 20;  // how much more often they meet what takes apart

}  // namespace

FrameType type_of(const std::string& frame) {
  std::uint16_t type = 0;
  std::memcpy(&type, frame.data() + 2, sizeof type);
  return FrameType{type};
}

namespace {

// A frame's checksum is of all in it, so that nobody need look at that again.
template <class Visit>
void for_each_checksum(const std::string& frames, Visit visit) {
  for (std::size_t at = 0; at + kFrameHeader <= frames.size();) {
    std::uint32_t length = 0;
    std::uint64_t checksum = 0;
    std::memcpy(&length, frames.data() + at + 4, sizeof length);
    std::memcpy(&checksum, frames.data() + at + 8, sizeof checksum);
    visit(checksum);
    at += kFrameHeader + length;
  }
}

}  // namespace

Network::Network(Timeline& time, Trace& trace, Random random, const Options& options)
    : time_(time), trace_(trace), nodes_(options.nodes) {
  // All are drawn, so that switching one off leaves the others as they were.
  const std::uint64_t breaks = 200 + random.below(2000), delays = 500 + random.below(5000),
                      loss = 1000 + random.below(random.below(6) == 0 ? 300'000 : 10'000),
                      doubles = 1000 + random.below(50'000), reorders = 1000 + random.below(50'000);
  if (options.has(Knob::breaks)) breaks_ = breaks;
  if (options.has(Knob::delays)) delays_ = delays;
  if (options.has(Knob::loss)) loss_ = loss;
  if (options.has(Knob::doubles)) doubles_ = doubles;
  if (options.has(Knob::reorders)) reorders_ = reorders;
  hosts_ = options.nodes + options.clients + options.wire_clients + 1;  // and a stranger
  for (std::size_t pair = 0; pair < hosts_ * hosts_; ++pair) pairs_.push_back(random.split());
}

// A generator for each direction between two hosts, and one for each message: what
// befalls one message leaves the others as they were.
Random Network::dice(HostId from, HostId to) { return pairs_[from * hosts_ + to].split(); }

ConnId Network::connect(HostId from, Ears from_ears, HostId to, Ears to_ears) {
  const ConnId id{next_++};
  Conn& conn = conns_[id];
  conn.sides[0] = {from, std::move(from_ears), true, {}, {}, {}};
  conn.sides[1] = {to, std::move(to_ears), true, {}, {}, {}};
  return id;
}

Network::Ends Network::ends(ConnId connection, HostId host) {
  const auto at = conns_.find(connection);
  if (at == conns_.end()) return {};
  Side(&sides)[2] = at->second.sides;
  const std::size_t mine = sides[0].host == host ? 0 : 1;
  return {&sides[mine], &sides[1 - mine]};
}

HostId Network::peer(ConnId connection, HostId of) {
  const Side* there = ends(connection, of).there;
  return there == nullptr ? of : there->host;
}

namespace {

Duration spread(Random& dice, Duration least, Duration most) {
  return least + Duration(static_cast<std::int64_t>(
                     dice.below(static_cast<std::uint64_t>((most - least).count()) + 1)));
}

}  // namespace

// Draws even if it cannot be.
bool Network::chance(Random& dice, std::uint64_t per_million) const {
  return dice.below(1'000'000) < per_million && !kind_;
}

void Network::send(ConnId connection, HostId from, std::string bytes) {
  const auto [here, to] = ends(connection, from);
  if (to == nullptr || !to->open || !here->open) return;
  if (cuts_.contains({from, to->host})) {
    to->stalled.push_back({std::move(bytes), time_.now()});
    return;
  }
  deliver(connection, from, *to, {std::move(bytes), time_.now()});
}

void Network::deliver(ConnId id, HostId from, Side& to, Message message) {
  Random dice = this->dice(from, to.host);
  const bool between_nodes = from < nodes_ && to.host < nodes_;
  // A greeting comes first, or what follows it would be from nobody.
  const bool loose = between_nodes && !is_greeting(type_of(message.bytes));
  const std::uint64_t risk = between_nodes && !loose ? kGreetingsRisk : 1;
  const bool breaks = chance(dice, risk * breaks_), lost = chance(dice, loss_) && between_nodes,
             late = chance(dice, risk * delays_), doubled = chance(dice, doubles_) && loose,
             overtakes = chance(dice, reorders_) && loose;
  if (breaks) {
    inject("broken connection");
    break_connection(id, dice);
  }
  if (lost) {
    inject("lost message");
    break_connection(id, dice);
    return;
  }
  Duration delay = spread(dice, kFastestLink, kUsual);
  if (late) {
    inject("delayed message");
    delay += spread(dice, Duration::zero(), milliseconds(500));
  }
  // That "not applied" is the last word on what was sent once rests on TCP.
  if (doubled && type_of(message.bytes) != FrameType::forward) {
    inject("doubled message");
    const Instant again = time_.now() + delay + spread(dice, kFastestLink, milliseconds(200));
    arrive(id, to.host, std::max(again, to.greeted), message);
  }
  if (overtakes) {
    inject("reordered message");
    const Instant then = time_.now() + delay + spread(dice, kFastestLink, milliseconds(50));
    arrive(id, to.host, std::max(then, to.greeted), std::move(message));
    return;
  }
  to.last_arrival = std::max(to.last_arrival, time_.now() + delay);
  if (between_nodes && !loose) to.greeted = to.last_arrival;
  arrive(id, to.host, to.last_arrival, std::move(message));
}

void Network::arrive(ConnId id, HostId host, Instant when, Message message) {
  trace_.mark(static_cast<std::uint64_t>(when.time_since_epoch().count()));
  trace_.mark(host);
  for_each_checksum(message.bytes, [this](std::uint64_t checksum) { trace_.mark(checksum); });
  time_.at(when, [this, id, host, message = std::move(message)]() mutable {
    Side* here = ends(id, host).here;
    if (here == nullptr || !here->open) return;
    sent_ = message.sent;
    here->ears.on_bytes(std::move(message.bytes));
    sent_ = kNever;
  });
}

// What is on its way arrives or not, as chance has it: each side closes by itself.
void Network::break_connection(ConnId id, Random& dice) {
  Conn& conn = conns_.at(id);
  if (std::exchange(conn.breaking, true)) return;
  for (const Side& one : conn.sides) {
    const HostId host = one.host;
    time_.in(spread(dice, Duration::zero(), milliseconds(loss_ > 0 ? 1000 : 3)), [this, id, host] {
      Side* here = ends(id, host).here;
      if (here == nullptr || !here->open) return;
      here->open = false;
      here->ears.on_closed();
    });
  }
}

void Network::close(ConnId connection, HostId from) {
  const auto [here, there] = ends(connection, from);
  if (here == nullptr || !here->open) return;
  here->open = false;
  const HostId host = there->host;
  const Instant when = std::max(there->last_arrival, time_.now() + kUsual);
  time_.at(when, [this, connection, host] {
    Side* other = ends(connection, host).here;
    if (other == nullptr) return;
    if (std::exchange(other->open, false)) other->ears.on_closed();
    conns_.erase(connection);
  });
}

std::vector<ConnId> Network::connections() const {
  std::vector<ConnId> ids;
  for (const auto& [id, conn] : conns_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Network::close_all(HostId host) {
  for (const ConnId id : connections()) {
    const Conn& conn = conns_.at(id);
    if (conn.sides[0].host == host || conn.sides[1].host == host) close(id, host);
  }
}

void Network::heal() {
  cuts_.clear();
  for (const ConnId id : connections()) {
    Conn& conn = conns_.at(id);
    for (std::size_t i = 0; i < 2; ++i) {
      Side& to = conn.sides[i];
      for (Message& message : std::exchange(to.stalled, {}))
        deliver(id, conn.sides[1 - i].host, to, std::move(message));
    }
  }
}

}  // namespace quipu::sim
