// pins.h: agreeing, without consensus, on which stores a cluster consists of.
//
//   blank ──every member has pinned the same stores──▶ founded ──replacements──▶ …
//
// Founding is like etcd's initial-cluster: every listed node pins the other nodes' store ids.
// It is founded once all send the same list (or one says that it is founded with this list).
// That list is the key of every placement.
//
// Afterwards a member counts only with its pinned store. If a store says that it is a
// replacement (marked), it is pinned in place of the old one, and the old one is refused from
// then on. An unmarked stranger is refused.
//
// Invariants: a founding never changes. A generation never decreases. A retired store is never
// pinned again. Pure functions over Pins, which are in meta.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/membership/config.h"
#include "protocol/peer_messages.h"

namespace quipu {

// The store that sends, on either side.
struct ClaimedStore {
  NodeId node{};
  StoreId store{};
  bool marked = false;
};

// The pins of a store that has met no other.
[[nodiscard]] Pins blank_pins(const ClusterConfig& config, const ClaimedStore& self);

// Stores that were replaced, which no node forgets: so many that each Hello stays well below
// kMaxFrame.
inline constexpr std::size_t kMaxRetired = 65'536;

struct PinResult {
  bool changed = false;  // also if it refuses because our store was replaced
  std::string refusal;   // not empty: close the link with this text
};

// Merges the pins of a peer's Hello as far as allowed. If it refuses, it merges only the fact
// that our own store was replaced.
[[nodiscard]] PinResult meet(Pins& mine, const ClaimedStore& self, const Hello& hello);

// Every listed member has sent `mine`: the cluster is founded.
void found(Pins& mine);

[[nodiscard]] bool founding_known(const Pins& pins);

// The store with which `node` joins the founding. 0: not met yet.
[[nodiscard]] StoreId founding_store(const Pins& pins, NodeId node);

// Whether both lists pin the same stores for the same nodes, whatever their generations.
[[nodiscard]] bool same_stores(const std::vector<Pin>& a, const std::vector<Pin>& b);

// Another store was pinned in place of this one: it counts nowhere any more.
[[nodiscard]] bool retired(const Pins& pins, StoreId store);

}  // namespace quipu
