#include "cluster/membership/pins.h"

#include <algorithm>
#include <iterator>

#include "protocol/check.h"

namespace quipu {
namespace {

template <class PinList>
auto find_pin(PinList& pins, NodeId node) {
  return std::find_if(pins.begin(), pins.end(),
                      [node](const Pin& pin) { return pin.node == node; });
}

void retire(Pins& pins, StoreId store) {
  if (store == StoreId{} || retired(pins, store)) return;
  pins.retired.insert(std::upper_bound(pins.retired.begin(), pins.retired.end(), store), store);
}

void replace(Pins& pins, const ClaimedStore& now) {
  const auto pin = find_pin(pins.current, now.node);
  QUIPU_CHECK(pin != pins.current.end() && pin->store != now.store,
              "a store replaces another one of its node", now.node, now.store);
  QUIPU_CHECK(!retired(pins, now.store), "a retired store is never pinned again", now.node,
              now.store);
  retire(pins, pin->store);
  *pin = Pin{now.node, now.store, pin->generation + 1};
}

std::string stranger(const char* whose) {
  return std::string(whose) +
         " store is not the one that this cluster counts with: its disk was wiped, swapped or "
         "copied. Start "
         "that node with --rebuild to fill a new store from its peers";
}

// The greater generation wins. In a tie, the node itself decides by its Hello.
void merge_current(Pins& mine, const Pins& theirs) {
  for (const StoreId store : theirs.retired) retire(mine, store);
  for (const Pin& pin : theirs.current) {
    const auto held = find_pin(mine.current, pin.node);
    if (held != mine.current.end() && pin.generation > held->generation) {
      // The one that saw more replacements is the higher, also for the same store.
      if (held->store != pin.store) retire(mine, held->store);
      *held = pin;
    }
  }
}

// Whether `one` may count for its node, by these pins. Pins it if it is a replacement.
bool admit(Pins& pins, const ClaimedStore& one) {
  const auto pin = find_pin(pins.current, one.node);
  if (pin == pins.current.end() || retired(pins, one.store)) return false;
  if (pin->store == one.store) return true;
  if (!one.marked) return false;
  replace(pins, one);
  return true;
}

PinResult meet_unfounded(Pins& mine, const Hello& hello) {
  const auto pin = find_pin(mine.founding, hello.node);
  if (pin == mine.founding.end() || pin->store == hello.store) return {};
  QUIPU_CHECK(!mine.founded, "a founding never changes", hello.node);
  pin->store = hello.store;
  return {true, {}};
}

// No store has the id 0: it stands for "none" where a store is not known yet.
bool names_no_store(const Hello& hello) {
  const auto is_none = [](const Pin& pin) { return pin.store == StoreId{}; };
  return hello.store == StoreId{} ||
         (hello.pins.founded && (std::ranges::any_of(hello.pins.founding, is_none) ||
                                 std::ranges::any_of(hello.pins.current, is_none)));
}

}  // namespace

bool same_stores(const std::vector<Pin>& a, const std::vector<Pin>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Pin& x, const Pin& y) {
    return x.node == y.node && x.store == y.store;
  });
}

bool retired(const Pins& pins, StoreId store) {
  return std::binary_search(pins.retired.begin(), pins.retired.end(), store);
}

Pins blank_pins(const ClusterConfig& config, const ClaimedStore& self) {
  Pins pins;
  for (const Member& member : config.members) {
    pins.founding.push_back({member.id, member.id == self.node ? self.store : StoreId{}, 1});
  }
  return pins;
}

bool founding_known(const Pins& pins) {
  return std::all_of(pins.founding.begin(), pins.founding.end(),
                     [](const Pin& pin) { return pin.store != StoreId{}; });
}

StoreId founding_store(const Pins& pins, NodeId node) {
  const auto pin = find_pin(pins.founding, node);
  return pin == pins.founding.end() ? StoreId{} : pin->store;
}

void found(Pins& mine) {
  QUIPU_CHECK(!mine.founded && founding_known(mine),
              "a cluster is founded once, by all its members");
  mine.founded = true;
  mine.current = mine.founding;
}

PinResult meet(Pins& mine, const ClaimedStore& self, const Hello& hello) {
  const ClaimedStore peer{hello.node, hello.store, hello.marked};
  if (names_no_store(hello)) return {false, "its Hello names no store where one must be"};
  if (find_pin(mine.founding, hello.node) == mine.founding.end())
    return {false, "not a member of this cluster"};
  if (!mine.founded && !hello.pins.founded) return meet_unfounded(mine, hello);

  Pins next = mine;
  if (!next.founded) {
    next.founding = hello.pins.founding;
    next.current = hello.pins.current;
    next.retired = hello.pins.retired;
    next.founded = true;
  } else if (hello.pins.founded) {
    if (!same_stores(next.founding, hello.pins.founding)) {
      return {
          false,
          "this node was founded in another cluster of the same name and members: wipe the data "
          "directory of the one that is not wanted"};
    }
    merge_current(next, hello.pins);
  }
  if (next.retired.size() > kMaxRetired)
    return {false, "more stores were replaced than any node remembers: found a new cluster"};
  PinResult result;
  if (!admit(next, self)) {
    result.refusal = stranger("this node's");
  } else if (!admit(next, peer)) {
    result.refusal = stranger("the peer's");
  }
  // A replaced store must know it for good, even if this link is refused.
  if (!result.refusal.empty() && (!mine.founded || !retired(next, self.store))) return result;
  result.changed = next != mine;
  QUIPU_CHECK(!mine.founded || (next.founded && same_stores(next.founding, mine.founding)),
              "a founding never changes", hello.node);
  QUIPU_CHECK(next.retired.size() >= mine.retired.size(), "a retired store stays retired",
              next.retired.size(), mine.retired.size());
  mine = std::move(next);
  return result;
}

}  // namespace quipu
