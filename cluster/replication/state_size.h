// state_size.h: the most room that a shard's state takes in a frame.
//
// Code that puts several states into one message adds these sizes up: a shard that many nodes
// wrote takes a third of a frame alone.
#pragma once

#include "protocol/client_messages.h"
#include "protocol/frame.h"
#include "storage/entry.h"

namespace quipu {

inline constexpr std::size_t kStateOverhead = 16;
inline constexpr std::size_t kMaxStateBytes = kStateOverhead + kMaxKey + kMaxCells * sizeof(Cell);
// For the header, the version vector and the tables around the states.
inline constexpr std::size_t kMaxStatesBytes = kMaxFrame - (std::size_t{128} << 10);

[[nodiscard]] inline std::size_t state_bytes(const ShardRef& shard, const ShardState& state) {
  return kStateOverhead + shard.key.size() + state.cells.size() * sizeof(Cell);
}

}  // namespace quipu
