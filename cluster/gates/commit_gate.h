// commit_gate.h: holds news of a change until the change is durable.
//
//   hold(item, commit) ──▶ in order of arrival ──release(durable)──▶ may go
//
// Everything that leaves this node and depends on a commit passes such a gate: answers and
// peer messages (outbound.h), encoded replies in a connection's buffer
// (node/net/socket_output.h), answers owed to another core of this node
// (node/cores/core_router.h).
//
// Invariant: an item goes only when all commits up to its own are durable, and after all
// items that were held before it. So an item may wait for a later commit than its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include "protocol/check.h"
#include "protocol/ids.h"

namespace quipu {

template <class Item>
class CommitGate {
 public:
  void hold(Item item, Commit until) {
    QUIPU_CHECK(until != Commit{}, "a held item waits for a commit");
    held_.push_back({std::max(until, last()), std::move(item)});
  }

  // Calls `go` with each item that may go now. `go` may hold others meanwhile.
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

  // Calls `go` at once with each item for which `wanted` is true: its content no longer depends
  // on a commit. `go` holds none here.
  template <class Wanted, class Go>
  void take_out(Wanted&& wanted, Go&& go) {
    const std::size_t before = held_.size();
    std::deque<Held> kept;
    for (Held& held : held_) {
      if (wanted(std::as_const(held.item))) {
        go(std::move(held.item));
      } else {
        kept.push_back(std::move(held));
      }
    }
    QUIPU_CHECK(held_.size() == before, "nothing is held while items are taken out", before,
                held_.size());
    held_ = std::move(kept);
  }

  [[nodiscard]] bool empty() const { return held_.empty(); }
  // REQUIRES: not empty.
  [[nodiscard]] const Item& front() const {
    QUIPU_CHECK(!held_.empty(), "an empty gate holds nothing");
    return held_.front().item;
  }
  // The commit of the newest item; 0 if there is none.
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
