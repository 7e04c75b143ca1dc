// range_plan.h: which windows answer a question about a range of time.
//
//   09:58 ── 1m 1m ──│────── 1h ──────│────── 1h ──────│── 1m ── 12:01
//
// Each step takes the longest windows that fit into it and are still kept. Tiers are multiples
// of each other, and all windows and steps begin at multiples of their length since 1970, so that
// what is left at the edges is made of shorter windows.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "protocol/client_messages.h"
#include "protocol/namespace.h"
#include "quipu/status.h"
#include "storage/executor.h"

namespace quipu {

struct RangePlan {
  struct Part {
    std::size_t count;  // the index of the step in which it counts
    std::chrono::seconds tier;
    Wall at;  // when the window begins
  };
  Wall begin{};
  std::chrono::seconds step{};
  std::size_t counts = 0;   // steps
  std::vector<Part> parts;  // in the order of time; none that begins later than now
  bool covered = true;      // false: for some of the time, no windows that fit are kept any more
};

// `now`: the node's date. invalid_argument: the question has no answer; the text says why.
[[nodiscard]] Result<RangePlan> plan_range(const NamespaceDefinition& definition,
                                           const RangeRequest& request, Wall now);

// Where nothing of the kind was counted, and the key has a counter of another one: 0 would look as
// if nothing had been counted at all.
inline constexpr const char* kRangeOfOtherKind =
    "the key has a counter of another kind: the range of a `distinct` is asked for with UNION "
    "(--union), that of a sum without";
[[nodiscard]] bool counted_nothing(const std::vector<std::int64_t>& counts);

// Windows that end before it do not change any more, if their states are no older than `as_of`.
// Wall{}: unknown.
[[nodiscard]] Wall settled_until(const Executor& executor, const NodeSettings& settings,
                                 std::string_view key, Instant now, Instant as_of);

}  // namespace quipu
