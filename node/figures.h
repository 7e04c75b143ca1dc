// figures.h: what a reactor tells of itself, and sums to what its node tells.
//
//   published at each timer, so that others are told without being asked: so old
#pragma once

#include <cstdint>

#include "protocol/client_messages.h"

namespace quipu {

// Of the Redis clients.
struct RespFigures {
  std::uint64_t connected = 0;
  std::uint64_t connections_received = 0;
  std::uint64_t commands_processed = 0;
  std::uint64_t per_second = 0;        // commands, in the last second that is over
  std::uint64_t hits = 0, misses = 0;  // of keys that were read
  std::uint64_t errors = 0;
};

struct Figures {
  StatusReply status;
  RespFigures resp;

  // Adds another reactor's numbers; who and how this is stays.
  void add(const Figures& other);
};

}  // namespace quipu
