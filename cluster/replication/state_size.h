// state_size.h: the most room that a shard's state takes in a frame.
//
// Code that puts several states into one message adds these sizes up: a sum that many nodes wrote
// takes a third of kMaxFrame alone, and a counter of another kind may take a message for itself.
#pragma once

#include <algorithm>

#include "protocol/client_messages.h"
#include "protocol/frame.h"
#include "protocol/window.h"
#include "storage/entry.h"
#include "storage/kinds/parts.h"

namespace quipu {

inline constexpr std::size_t kStateOverhead = 64;  // with the life of a counter that ends
inline constexpr std::size_t kPartOverhead = 12;
inline constexpr std::size_t kMaxStateBytes =
    kStateOverhead + kMaxName +
    std::max(kMaxCells * (kCellBytes + kBirthBytes), kMaxBodies + kMaxParts * kPartOverhead);
// For the header, the version vector and the tables around the states.
inline constexpr std::size_t kRoomAround = std::size_t{112} << 10;
inline constexpr std::size_t kMaxStatesBytes = kMaxPeerFrame - kRoomAround;
// Where one may take more, several together do not.
inline constexpr std::size_t kUsualStatesBytes = kMaxFrame - kRoomAround;

[[nodiscard]] inline std::size_t state_bytes(const ShardRef& shard, const ShardState& state) {
  return kStateOverhead + shard.key.size() + bytes_of(state.parts) +
         state.parts.size() * kPartOverhead +
         state.cells.size() * (state.life == Life{} ? kCellBytes : kCellBytes + kBirthBytes);
}

}  // namespace quipu
