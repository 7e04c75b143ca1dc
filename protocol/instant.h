// instant.h: monotonic time as the cores see it: a number that the caller
// passes in. It has no now(), so nothing below node/ can read a clock, and
// under the simulator it is virtual. No Instant ever crosses between nodes.
#pragma once

#include <chrono>

namespace quipu {

struct MonotonicTime {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<MonotonicTime, duration>;
  static constexpr bool is_steady = true;
};

using Duration = MonotonicTime::duration;
using Instant = MonotonicTime::time_point;

inline constexpr Instant kNever = Instant::max();

}  // namespace quipu
