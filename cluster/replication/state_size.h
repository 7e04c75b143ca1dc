// state_size.h: the most room that a shard's state takes in a frame.
//
// Code that puts several states into one message adds these sizes up: a shard that many nodes
// wrote takes a third of a frame alone.
#pragma once

#include "protocol/client_messages.h"
#include "protocol/frame.h"
#include "protocol/window.h"
#include "storage/entry.h"

namespace quipu {

inline constexpr std::size_t kStateOverhead = 64;  // with the life of a counter that ends
inline constexpr std::size_t kMaxStateBytes =
    kStateOverhead + kMaxName + kMaxCells * (kCellBytes + kBirthBytes);
// For the header, the version vector and the tables around the states.
inline constexpr std::size_t kMaxStatesBytes = kMaxFrame - (std::size_t{112} << 10);

[[nodiscard]] inline std::size_t state_bytes(const ShardRef& shard, const ShardState& state) {
  return kStateOverhead + shard.key.size() +
         state.cells.size() * (state.life == Life{} ? kCellBytes : kCellBytes + kBirthBytes);
}

}  // namespace quipu
