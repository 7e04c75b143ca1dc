// handshake_slots.h: which connections may do their TLS handshake now. Pure: no clock, no socket.
//
//   arrived ─▶ its address has a slot ─▶ the node has one ─▶ under way ─▶ ended
//                │ else: waits, unread, at most kMostWait     ▲
//                └────────────────────────────────────────────┘
//
// Pools of 500 connections from one address are normal, and so are 10,000 clients behind one NAT: a
// connection that finds no slot waits. But a handshake that has waited for its own client for
// longer than kPatience makes room, if another connection needs the slot: that of the address that
// has most, and of those the oldest.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocol/instant.h"

namespace quipu {

class HandshakeSlots {
 public:
  enum class Id : std::uint64_t {};
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kMostOfAnAddress = 64;
  static_assert(kMostOfAnAddress < kMost);
  static constexpr std::chrono::seconds kPatience{1};
  static constexpr std::chrono::seconds kMostWait{10};

  // `from`: the address, of IPv6 the /64.
  void arrived(Instant now, Id id, const std::string& from);
  // A handshake under way has ended. Ignored if take_late() or take_oldest() returned it.
  void ended(Id id);
  // Those that begin now. Call it after each of the others.
  [[nodiscard]] std::vector<Id> take_ready();

  // Since when a handshake under way has waited for its client.
  using WaitsSince = std::function<Instant(Id)>;
  // Those that must be ended: they make room, or have waited too long for a slot. They count no
  // more. Call it often while waiting() is true.
  [[nodiscard]] std::vector<Id> take_late(Instant now, const WaitsSince& waits_since);
  // A handshake that must be ended, since its port has no room for another connection. Only those
  // for which `is_of_port` is true are looked at: the oldest of the address that has most of them.
  // It counts no more. Nothing: there is none.
  [[nodiscard]] std::optional<Id> take_oldest(const std::function<bool(Id)>& is_of_port);
  [[nodiscard]] bool waiting() const { return waiting_ > 0; }
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }

 private:
  struct Waiting {
    Id id;
    Instant since;
  };
  struct Source {
    std::size_t slots = 0;          // under way, or in ready_
    std::deque<Waiting> without{};  // a slot
  };
  struct UnderWay {
    Id id;
    std::string from;
  };
  void free_slot(const std::string& from);

  std::map<std::string, Source> sources_;
  std::deque<std::pair<Waiting, std::string>> ready_;  // has a slot of its address
  std::list<UnderWay> under_way_;                      // the oldest first
  std::size_t waiting_ = 0;
};

}  // namespace quipu
