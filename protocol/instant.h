// instant.h: monotonic time in the cores: a number that the caller passes in. It has no
// now(), so code below node/ cannot read a clock, and the simulator's time is virtual. An
// Instant is never sent to another node.
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
