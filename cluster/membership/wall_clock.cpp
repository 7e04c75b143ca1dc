#include "cluster/membership/wall_clock.h"

#include <algorithm>
#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

using std::chrono::abs;

// A member that was heard longer ago, and more than three gossip intervals ago, is not compared.
constexpr Duration kLately = std::chrono::seconds(10);
// An exchange that took longer says too little.
constexpr Duration kLongestRoundTrip = std::chrono::seconds(1);
constexpr Duration kLongestWithoutTick = std::chrono::seconds(1);

// Differences of what clocks show fit a Duration.
static_assert(kLatestWall.time_since_epoch() < Duration::max() / 2);

std::string in_words(Duration time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(abs(time)).count();
  return ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

}  // namespace

WallClock::WallClock(Instant now, Wall wall, Settings settings)
    : settings_(std::move(settings)),
      alone_(std::ranges::count(settings_.others, true) == 0),
      set_at_(now),
      set_(wall),
      own_(base(now, wall)),
      heard_(settings_.others.size()),
      doubt_(alone_ ? Doubt::none : Doubt::not_compared) {}

WallClock::Base WallClock::base(Instant now, Wall wall) {
  return wall.time_since_epoch() - now.time_since_epoch();
}

Wall WallClock::shown(Instant now) const {
  return set_ + std::chrono::floor<Wall::duration>(std::min(now - set_at_, kLongestWithoutTick));
}

void WallClock::raise_floor(Instant now) {
  if (trusted()) floor_ = at(now);
}

void WallClock::set(Instant now, Wall wall) {
  raise_floor(now);
  set_at_ = now;
  set_ = wall;
  own_ = base(now, wall);
  judge(now);
}

void WallClock::on_heartbeat(Instant now, MemberIndex from, Wall wall, Duration round_trip) {
  QUIPU_CHECK(from < settings_.others.size(), "heartbeats come from members", from,
              settings_.others.size());
  if (!settings_.others[from] || round_trip < Duration::zero() || round_trip > kLongestRoundTrip)
    return;
  heard_[from] = {base(now, wall) + round_trip / 2, now};
  raise_floor(now);
  judge(now);
}

bool WallClock::lately(Instant now, const Heard& heard) const {
  return heard.at && now - *heard.at <= std::max(kLately, 3 * settings_.gossip_interval);
}

// If the number is even, the mean of the middle two. nullopt: no other member was heard lately.
std::optional<WallClock::Base> WallClock::median(Instant now) const {
  std::vector<Base> all{own_};
  for (const Heard& heard : heard_) {
    if (lately(now, heard)) all.push_back(heard.base);
  }
  if (all.size() == 1) return std::nullopt;
  std::ranges::sort(all);
  const Base upper = all[all.size() / 2], lower = all[(all.size() - 1) / 2];
  return lower + (upper - lower) / 2;
}

void WallClock::judge(Instant now) {
  if (const auto middle = median(now)) {
    ahead_ = own_ - *middle;
    own_then_ = own_;
    doubt_ = abs(*ahead_) <= settings_.skew ? Doubt::none : Doubt::off;
  } else if (alone_) {
    doubt_ = Doubt::none;
  } else if (ahead_ && abs(own_ - own_then_) > settings_.skew) {
    doubt_ = Doubt::jumped;
  } else if (doubt_ == Doubt::none && abs(*ahead()) > settings_.skew) {
    doubt_ = Doubt::off;
  }
  const bool stands_still = floor_ - set_ > settings_.skew;
  if (stands_still && doubt_ == Doubt::none) doubt_ = Doubt::set_back;
  if (!stands_still && doubt_ == Doubt::set_back) doubt_ = Doubt::none;
}

std::optional<Duration> WallClock::ahead() const {
  if (!ahead_) return std::nullopt;
  return *ahead_ + (own_ - own_then_);
}

std::optional<Duration> WallClock::offset(Instant now, MemberIndex member) const {
  const Heard& heard = heard_[member];
  if (!lately(now, heard)) return std::nullopt;
  return heard.base - own_;
}

std::string WallClock::doubt() const {
  switch (doubt_) {
    case Doubt::none:
      break;
    case Doubt::not_compared:
      return "this node has not compared its clock with another member's yet";
    case Doubt::off:
      return "this node's clock is " + in_words(*ahead()) +
             (*ahead() > Duration::zero() ? " ahead of" : " behind") +
             " the other members': set it right";
    case Doubt::jumped:
      return "this node's clock jumped while no other member was heard";
    case Doubt::set_back:
      return "this node's clock was set back by " + in_words(floor_ - set_) +
             ", and no time may come twice: wait so long, or restart the node";
  }
  return {};
}

}  // namespace quipu
