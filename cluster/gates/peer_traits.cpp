#include "cluster/gates/peer_traits.h"

#include <type_traits>

#include "protocol/check.h"

namespace quipu {
namespace {

// A list also loads this many leaves beyond the one that it must see, since its next part is
// usually requested.
constexpr std::uint32_t kLeavesAhead = 16;

template <class Message>
using Traits = PeerTraits<std::decay_t<Message>>;

}  // namespace

void Needs::add(const Delta& states) {
  states.for_each([this](const DeltaEntry& entry) {
    shards.push_back({std::string(entry.ref.key), entry.ref.shard});
  });
  bytes += states.bytes();
}

void PeerTraits<ListPart>::look_at(const ListPart& list, Needs& needs) {
  if (list.cursor >= kListEnd) return;
  const Partition partition{static_cast<std::uint16_t>(list.cursor / kLeaves)};
  const std::uint32_t first = list.cursor % kLeaves;
  const std::uint32_t end = std::min<std::uint32_t>(kLeaves, first + kLeavesAhead);
  for (std::uint32_t leaf = first; leaf < end; ++leaf)
    needs.leaves.push_back({partition, static_cast<std::uint8_t>(leaf)});
}

bool needs_room(const PeerMessage& message) {
  return std::visit([](const auto& one) { return Traits<decltype(one)>::kNeedsRoom; }, message);
}

const Delta* states_in(const PeerMessage& message) {
  return std::visit([](const auto& one) { return Traits<decltype(one)>::states(one); }, message);
}

Needs needs_of(const PeerMessage& message) {
  Needs needs;
  std::visit([&](const auto& one) { Traits<decltype(one)>::look_at(one, needs); }, message);
  for (const ShardKey& shard : needs.shards) needs.bytes += sizeof shard + shard.key.size();
  return needs;
}

void call_stale(PeerMessage& message) {
  std::visit(
      [](auto& one) {
        if constexpr (requires { Traits<decltype(one)>::call_stale(one); }) {
          Traits<decltype(one)>::call_stale(one);
        } else {
          QUIPU_CHECK(false, "an answer to a fenced request can say stale_config");
        }
      },
      message);
}

}  // namespace quipu
