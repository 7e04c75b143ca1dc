// wall_clock.h: this node's wall time, and whether it may be trusted.
//
//   the machine's clock, at each tick ──▶ at(now): the wall time of every event
//   heartbeats: the sender's wall time, and the round trip ──▶ its offset from ours
//   the offsets of all members, and ours (0) ──▶ median ──▶ trusted within `skew` of it
//
// The offset is what Cristian (1989) reads from one exchange: the time in the message, plus half
// the round trip. It is wrong by at most half the round trip, and slow exchanges are left out.
//
// Offsets are kept against the monotonic clock. So if the machine's clock jumps, it is compared
// anew at once with what was heard before. While no other member is heard, the verdict stays, but a
// jump of one of the two clocks against the other ends the trust. A node that has compared its
// clock with nobody since its start is not trusted, unless there is nobody to compare with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/instant.h"
#include "protocol/wall.h"
#include "storage/life.h"

namespace quipu {

class WallClock : public Calendar {
 public:
  struct Settings {
    std::vector<bool> others{};  // by member: whether it has another clock than this node
    Duration skew{};             // so far from the median, a clock is trusted
    Duration gossip_interval{};
  };
  WallClock(Instant now, Wall wall, Settings settings);

  // The machine's clock shows `wall`.
  void set(Instant now, Wall wall);
  // A heartbeat of that member says that its machine's clock shows `wall`. It and the heartbeat
  // that it answers travelled for `round_trip` together.
  void on_heartbeat(Instant now, MemberIndex from, Wall wall, Duration round_trip);

  // The wall time. While the clock is trusted, it never goes back: it stands still instead.
  [[nodiscard]] Wall at(Instant now) const override {
    return trusted() ? std::max(floor_, shown(now)) : shown(now);
  }
  // None also if no tick came for so long (as after a pause of the process) that it may be far
  // behind.
  [[nodiscard]] std::optional<Wall> date(Instant now) const override {
    return trusted() && now - set_at_ <= kLongestUse ? std::optional(at(now)) : std::nullopt;
  }
  // What the machine's clock shows. Between two set() it follows the monotonic clock, but for a
  // second at most, since that may jump.
  [[nodiscard]] Wall shown(Instant now) const;
  [[nodiscard]] bool trusted() const { return doubt_ == Doubt::none; }
  // With other members, or there are none.
  [[nodiscard]] bool compared() const { return doubt_ != Doubt::not_compared; }
  // How far the machine's clock is ahead of the median; below 0: behind. nullopt: it was never
  // compared.
  [[nodiscard]] std::optional<Duration> ahead() const;
  // How far a member's clock is ahead of this one. nullopt: it was not heard lately.
  [[nodiscard]] std::optional<Duration> offset(Instant now, MemberIndex member) const;
  // Why it is not trusted, for people; empty: it is.
  [[nodiscard]] std::string doubt() const;

 private:
  static constexpr Duration kLongestUse = std::chrono::seconds(2);
  enum class Doubt : std::uint8_t {
    none,
    not_compared,
    off,       // it is too far from the median
    jumped,    // while no other member was heard
    set_back,  // so far that the time would stand still for too long
  };
  // A clock, as what it shows when this node's monotonic clock shows 0.
  using Base = Duration;
  struct Heard {
    Base base{};
    std::optional<Instant> at;
  };

  [[nodiscard]] static Base base(Instant now, Wall wall);
  [[nodiscard]] bool lately(Instant now, const Heard& heard) const;
  [[nodiscard]] std::optional<Base> median(Instant now) const;
  void raise_floor(Instant now);
  void judge(Instant now);

  const Settings settings_;
  const bool alone_;
  Instant set_at_;
  Wall set_;  // what the machine's clock showed then
  Base own_;
  std::vector<Heard> heard_;
  Doubt doubt_;                    // the verdict of the last comparison, and what came since
  std::optional<Duration> ahead_;  // at the last comparison
  Base own_then_{};                // this clock, then
  Wall floor_{};                   // the latest time that it has shown while it was trusted
};

}  // namespace quipu
