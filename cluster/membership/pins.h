// pins.h: agreeing, without consensus, on which stores a cluster consists of.
//
//   blank ──every member has pinned the same stores──▶ founded ──replacements──▶ …
//
// Founding, as etcd's initial-cluster: every listed node pins each other's store
// id, and is founded once all say the same list (or one says that it is founded
// with this list). The placement of all keys is keyed by that list.
//
// Afterwards a member counts only with the store that is pinned. A store that
// says of itself that it is a replacement (marked) is pinned in place of the old
// one, which is refused from then on; an unmarked stranger is refused.
//
// Invariants: a founding never changes; a generation never decreases; a retired
// store is never pinned again. Pure functions over Pins, which meta holds.
#pragma once

#include <span>
#include <string>

#include "cluster/membership/config.h"
#include "protocol/peer_messages.h"

namespace quipu {

// Which store is speaking, on either side.
struct ClaimedStore {
  NodeId node{};
  StoreId store{};
  bool marked = false;
};

// The pins of a store that has met nobody.
[[nodiscard]] Pins blank_pins(const ClusterConfig& config, const ClaimedStore& self);

struct PinVerdict {
  bool changed = false;  // also where it refuses: that our store was replaced
  std::string refusal;   // not empty: close the link, and say this
};

// Takes over what a peer's Hello says, as far as it may; if it refuses, nothing but
// that our own store was replaced.
[[nodiscard]] PinVerdict meet(Pins& mine, const ClaimedStore& self, const Hello& hello);

// Every listed member has said `mine`: the cluster is founded.
void found(Pins& mine);

[[nodiscard]] bool founding_known(const Pins& pins);

// The store that `node` joins the founding with; 0: it was not met yet.
[[nodiscard]] StoreId founding_store(const Pins& pins, NodeId node);

// Another store was pinned in place of this one: it counts nowhere any more.
[[nodiscard]] bool retired(const Pins& pins, StoreId store);

}  // namespace quipu
