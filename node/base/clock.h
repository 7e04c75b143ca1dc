// clock.h: the only place that reads a clock into an Instant.
#pragma once

#include <algorithm>
#include <asio/basic_waitable_timer.hpp>
#include <chrono>
#include <cstdint>
#include <limits>

#include "protocol/instant.h"
#include "protocol/wall.h"

namespace quipu {

// The operating system's monotonic clock. Its time points are the cores' Instants.
struct NodeClock : MonotonicTime {
  [[nodiscard]] static Instant now() noexcept {
    return Instant(std::chrono::steady_clock::now().time_since_epoch());
  }
};

// The operating system's wall clock. It may be wrong, and may jump.
[[nodiscard]] inline Wall wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::clamp(Wall(std::chrono::floor<Wall::duration>(since)), Wall{}, kLatestWall);
}

// Waits until an Instant on the reactor's io_context.
using Timer = asio::basic_waitable_timer<NodeClock>;

// The longest timeout that a caller may use, 24 days. A much longer one, added to a time, would
// overflow.
inline constexpr std::chrono::milliseconds kLongestTimeout{
    std::numeric_limits<std::int32_t>::max()};

// At least 1 ms, since 0 means the server's default on the wire.
[[nodiscard]] constexpr std::chrono::milliseconds clamp_timeout(std::chrono::milliseconds timeout) {
  return std::clamp(timeout, std::chrono::milliseconds(1), kLongestTimeout);
}

}  // namespace quipu
