// clock.h: the one place where a clock becomes an Instant.
#pragma once

#include <asio/basic_waitable_timer.hpp>
#include <chrono>

#include "protocol/instant.h"

namespace quipu {

// The operating system's monotonic clock; its time points are the cores' Instants.
struct NodeClock : MonotonicTime {
  [[nodiscard]] static Instant now() noexcept {
    return Instant(std::chrono::steady_clock::now().time_since_epoch());
  }
};

// Waits until an Instant on the reactor's io_context.
using Timer = asio::basic_waitable_timer<NodeClock>;

}  // namespace quipu
