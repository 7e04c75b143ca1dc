// checker.h: checks whether a history keeps the promises. Pure: a history in, violations out.
//
// For each read, M = the adds that it must have, O = those that it may have: invoked
// before it ended, and not refused.
//
//   L = Σ_M d + Σ_{O\M} min(0, d)  ≤  value  ≤  U = Σ_M d + Σ_{O\M} max(0, d)
//
//   read            must have                                             promise
//   strong          acked at quorum before it began; on witness keys also
//                   all that a strong read that ended before has counted  P4
//   local, complete acked longer than `age` before it began               P5
//   after healing   every acked add, the same total on every node         P1, P3
//
// "Acked" leaves out what a fault may take: adds at `memory` from before the end of a fault that
// ends a process, those at `disk` from before the end of one that costs a disk. On witness keys
// the sets are exact. So an add that was counted twice, counted although it was refused, or
// counted before it was invoked (P2) is identified.
//
// Counters of other kinds keep the same rules:
//
//   distinct         M and O are sets of elements: |M| ≤ value ≤ |M ∪ O|. A strong read counts no
//                    fewer than one that ended before. The load's elements share no register, so
//                    the estimate is exact
//   frequency, top   each item is a witness key of its own. The load's items share no cells and
//                    all fit on the list, so counts are exact, and the bounds of `top` are equal.
//                    An item that is not on the list has the count 0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/chaos/history.h"

namespace quipu::chaos {

struct Violation {
  std::string title;
  std::string key;
  std::vector<std::string> facts;  // "name: text", in the order of reading
  Time at{};                       // when the read that shows it began
};

// The first of each key, by time.
[[nodiscard]] std::vector<Violation> check(const History& history);

// Several lines, for a reader who does not know the code.
[[nodiscard]] std::string to_text(const Violation& violation);

// Why the history proves nothing. Empty: it does prove something.
struct Floor {
  double operations_per_second = 100;  // before the first fault
};
[[nodiscard]] std::string why_invalid(const History& history, const Floor& floor);

// Operations that were under way while the fault lasted.
[[nodiscard]] std::size_t overlapping(const History& history, const Fault& fault);

}  // namespace quipu::chaos
