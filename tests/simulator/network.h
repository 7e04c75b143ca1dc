// network.h: TCP with its failures: bytes arrive late, connections break and lose what is in
// flight, and a cut, also of one direction alone, stalls everything until it heals or one end
// gives up.
//
// Between nodes it is worse than TCP: with `loss`, `doubles` and `reorders`, messages vanish,
// arrive twice or overtake each other within a connection. Handshakes are excepted, and adds are
// not doubled. Otherwise no promise may depend on the order. (A connection that lost something
// breaks soon, like one whose bytes do not get through. Otherwise no node would ask again.)
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/frame.h"
#include "protocol/random.h"
#include "tests/simulator/options.h"
#include "tests/simulator/timeline.h"
#include "tests/simulator/trace.h"

namespace quipu::sim {

using HostId = std::size_t;  // nodes first, then clients
enum class ConnId : std::uint64_t {};

// One end of a connection, as its host sees it.
struct Ears {
  std::function<void(std::string)> on_bytes;
  std::function<void()> on_closed;
};

// The type of a whole frame.
[[nodiscard]] FrameType type_of(const std::string& frame);

class Network {
 public:
  Network(Timeline& time, Trace& trace, Random random, const Options& options);

  // Both ends can receive when this returns. Bytes flow from then on.
  ConnId connect(HostId from, Ears from_ears, HostId to, Ears to_ears);
  // One whole message.
  void send(ConnId connection, HostId from, std::string bytes);
  // The other side notices it a little later.
  void close(ConnId connection, HostId from);
  // The host died: its peers' connections are reset.
  void close_all(HostId host);

  // While a message is being delivered: when it was sent.
  [[nodiscard]] Instant sent() const { return sent_; }

  // The host at the other end.
  [[nodiscard]] HostId peer(ConnId connection, HostId of);

  // Whether a connection can be made, which needs both directions.
  [[nodiscard]] bool reachable(HostId a, HostId b) const {
    return !cuts_.contains({a, b}) && !cuts_.contains({b, a});
  }
  // `to` receives nothing from `from`.
  void cut(HostId from, HostId to) { cuts_.insert({from, to}); }
  // All stalled bytes arrive.
  void heal();
  // Whether connections lose, break, delay and so on; initially not.
  void be_kind(bool kind) { kind_ = kind; }

 private:
  struct Message {
    std::string bytes;
    Instant sent;
  };
  struct Side {
    HostId host{};
    Ears ears;
    bool open = true;
    Instant last_arrival{};
    Instant greeted{};            // when the last handshake message arrives
    std::deque<Message> stalled;  // sent to it during a cut
  };
  struct Conn {
    Side sides[2];
    bool breaking = false;
  };

  struct Ends {
    Side *here = nullptr, *there = nullptr;
  };
  // As `host` sees it. null: it no longer exists.
  Ends ends(ConnId connection, HostId host);
  [[nodiscard]] Random dice(HostId from, HostId to);
  [[nodiscard]] bool chance(Random& dice, std::uint64_t per_million) const;
  void inject(const char* kind) { ++trace_.faults[kind]; }
  [[nodiscard]] std::vector<ConnId> connections() const;  // oldest first
  void deliver(ConnId id, HostId from, Side& to, Message message);
  void arrive(ConnId id, HostId host, Instant when, Message message);
  void break_connection(ConnId id, Random& dice);

  Timeline& time_;
  Trace& trace_;
  std::vector<Random> pairs_;  // by direction
  std::size_t hosts_ = 0;
  const std::size_t nodes_;
  // Per million messages.
  std::uint64_t breaks_ = 0, delays_ = 0, loss_ = 0, doubles_ = 0, reorders_ = 0;
  bool kind_ = true;
  std::unordered_map<ConnId, Conn> conns_;
  std::set<std::pair<HostId, HostId>> cuts_;
  std::uint64_t next_ = 1;
  Instant sent_ = kNever;
};

}  // namespace quipu::sim
