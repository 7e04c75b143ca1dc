// some_messages.h: messages of a right form, made of decisions. Frames of mutated bytes rarely
// pass the decoders. These reach the code behind them.
#pragma once

#include <string>
#include <vector>

#include "protocol/message_codec.h"
#include "tests/fuzz/bytes.h"

namespace quipu::fuzz {

// The sender's knowledge of the node: names that it would otherwise have to guess.
struct Known {
  std::vector<StoreId> stores;
  std::vector<Serial> serials;
  std::vector<ActorId> actors;
  std::vector<BootId> boots;
  Fence fence{};
};

// One of a few, so that they meet; sometimes any other. Borrows from the bytes.
[[nodiscard]] std::string_view some_key(Bytes& bytes);
[[nodiscard]] ShardState some_state(Bytes& bytes, const Known& known);
// Gives it an end, and its cells births.
void some_life(Bytes& bytes, ShardState& state);
[[nodiscard]] Delta some_delta(Bytes& bytes, const Known& known);
[[nodiscard]] Op some_op(Bytes& bytes, const Known& known);
[[nodiscard]] Read some_read(Bytes& bytes);
[[nodiscard]] List some_list(Bytes& bytes);
[[nodiscard]] Partitions some_partitions(Bytes& bytes);
// Borrows from the bytes.
[[nodiscard]] RangeRequest some_range(Bytes& bytes);
NamespaceRequest some_namespace_request(Bytes& bytes);
[[nodiscard]] NamespaceDefinition some_definition(Bytes& bytes);
[[nodiscard]] Hello some_hello(Bytes& bytes, Hello honest);
[[nodiscard]] PeerMessage some_peer_message(Bytes& bytes, const Known& known);

}  // namespace quipu::fuzz
