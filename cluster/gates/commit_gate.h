// commit_gate.h: nobody learns of a change before it is durable.
//
//   hold(item, commit) ──▶ in the order of their coming ──release(durable)──▶ may go
//
// Whatever leaves this node and rests on a commit passes such a gate: answers and peer
// messages (outbound.h), replies encoded already in a connection's buffer
// (node/net/socket_output.h), answers owed to another core of this node
// (node/cores/core_router.h).
//
// Invariant: an item goes only when all commits up to its own are durable, and after all
// items that were held before it. So an item may wait for a later commit than its own.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "protocol/check.h"
#include "protocol/ids.h"

namespace quipu {

template <class Item>
class CommitGate {
 public:
  void hold(Item item, Commit until) {
    QUIPU_CHECK(until != Commit{}, "what rests on no commit need not wait");
    held_.push_back({std::max(until, last()), std::move(item)});
  }

  // Gives `go` each item that may go now. It may hold others meanwhile.
  template <class Go>
  void release(Commit durable, Go&& go) {
    while (!held_.empty() && held_.front().until <= durable) {
      const Commit until = held_.front().until;
      Item item = std::move(held_.front().item);
      held_.pop_front();
      QUIPU_CHECK(held_.empty() || until <= held_.front().until,
                  "what waits for a later commit goes later", until);
      go(std::move(item));
    }
  }

  // Gives `go` each item of which `wanted` is true, at once: it says now what rests on no
  // commit. `go` holds none here.
  template <class Wanted, class Go>
  void take_out(Wanted&& wanted, Go&& go) {
    std::deque<Held> kept;
    for (Held& held : held_) {
      if (wanted(std::as_const(held.item))) {
        go(std::move(held.item));
      } else {
        kept.push_back(std::move(held));
      }
    }
    held_ = std::move(kept);
  }

  [[nodiscard]] bool empty() const { return held_.empty(); }
  // REQUIRES: not empty.
  [[nodiscard]] const Item& front() const {
    QUIPU_CHECK(!held_.empty(), "an empty gate holds nothing");
    return held_.front().item;
  }
  // What the newest item waits for; 0 if there is none.
  [[nodiscard]] Commit last() const { return held_.empty() ? Commit{} : held_.back().until; }
  void clear() { held_.clear(); }

 private:
  struct Held {
    Commit until;
    Item item;
  };
  std::deque<Held> held_;  // ascending by commit
};

}  // namespace quipu
