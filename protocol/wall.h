// wall.h: wall time in the cores: a number that the caller passes in, as an Instant is. Clocks of
// different machines differ, so a Wall is only as good as cluster/membership/wall_clock.h says.
#pragma once

#include <chrono>
#include <cstdint>

namespace quipu {

struct WallTime {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = std::chrono::milliseconds;
  using time_point = std::chrono::time_point<WallTime, duration>;
  static constexpr bool is_steady = false;
};

// Since 1970.
using Wall = WallTime::time_point;

// The latest that a node may say, in the year 2109: in nanoseconds it still fits 64 bits, and so
// does the difference of two times.
inline constexpr Wall kLatestWall{std::chrono::milliseconds(std::int64_t{1} << 42)};

// The latest time that a counter may end, in the year 6429.
inline constexpr std::uint64_t kLatestDateMs = std::uint64_t{1} << 47;
inline constexpr Wall kLatestDate{std::chrono::milliseconds(kLatestDateMs)};

// For messages and disks, and back: too late a time stays too late, so that it is refused.
[[nodiscard]] constexpr std::uint64_t ms_of(Wall wall) {
  return static_cast<std::uint64_t>(wall.time_since_epoch().count());
}
[[nodiscard]] constexpr Wall wall_of_ms(std::uint64_t ms) {
  return Wall{std::chrono::milliseconds(
      static_cast<std::int64_t>(ms < kLatestDateMs ? ms : kLatestDateMs + (ms > kLatestDateMs)))};
}

}  // namespace quipu
