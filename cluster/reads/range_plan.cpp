#include "cluster/reads/range_plan.h"

#include <algorithm>
#include <string>

namespace quipu {
namespace {

using Seconds = std::chrono::seconds;

Status invalid(std::string why) { return {Code::invalid_argument, std::move(why)}; }

Wall floor(Wall time, Seconds step) { return time - time.time_since_epoch() % step; }
Wall ceil(Wall time, Seconds step) { return floor(time + step - Wall::duration(1), step); }

// The windows of one tier that can be asked for.
struct Windows {
  Seconds length{};
  Wall kept_from{};     // earlier ones may be gone
  Wall whole_from{};    // those that begin earlier may lack some,
  Wall counted_from{};  // except where nothing was counted at all
  [[nodiscard]] bool have(Wall begin) const {
    const bool whole =
        begin >= whole_from || begin + length <= counted_from || whole_from <= counted_from;
    return begin >= kept_from && whole;
  }
};

std::vector<Windows> windows_of(const NamespaceDefinition& definition, Wall now) {
  std::vector<Windows> all;
  const auto wall = [](std::uint64_t ms) {
    return Wall{Wall::duration(static_cast<std::int64_t>(std::min(ms, kLatestDateMs)))};
  };
  for (std::size_t i = 0; i < definition.policy.tiers.size(); ++i) {
    const Tier& tier = definition.policy.tiers[i];
    Windows& one = all.emplace_back();
    one.length = tier.length;
    if (tier.kept)
      one.kept_from =
          floor(now - std::min<Wall::duration>(*tier.kept, now.time_since_epoch()), tier.length);
    if (i < definition.whole_from.size()) one.whole_from = wall(definition.whole_from[i]);
    one.counted_from = wall(definition.counted_from);
  }
  return all;
}

// The shortest tier that has all of it, in no more windows than may be asked for.
Seconds usual_step(const std::vector<Windows>& tiers, Wall from, Wall to) {
  for (const Windows& tier : tiers) {
    const bool few = (to - from) / tier.length < static_cast<std::int64_t>(kMaxRange);
    if (few && tier.have(floor(from, tier.length))) return tier.length;
  }
  return tiers.back().length;
}

// Behind a moment for which no windows are kept: where those of one of the tiers may begin.
Wall next_begin(const std::vector<Windows>& tiers, Wall at) {
  Wall next = Wall::max();
  for (const Windows& tier : tiers)
    next = std::min(next, std::max(ceil(at + Wall::duration(1), tier.length), tier.kept_from));
  return next;
}

constexpr const char* kTooMany =
    "a range has at most 10,000 steps and windows: ask for longer "
    "steps, or for less time";

}  // namespace

Result<RangePlan> plan_range(const NamespaceDefinition& definition, const RangeRequest& request,
                             Wall now) {
  const std::vector<Windows> tiers = windows_of(definition, now);
  if (tiers.empty())
    return invalid(
        "the counter's namespace has no tiers, so nothing is counted by time: quipu "
        "namespace set --tiers");
  const Seconds shortest = tiers.front().length;
  const bool last = request.last != Seconds(0);
  Wall to = last ? now : request.to;
  Wall from = last ? std::max(Wall{}, now - request.last) : request.from;
  if (from >= to) return invalid("a range begins before it ends");
  const Seconds step = request.step != Seconds(0) ? request.step : usual_step(tiers, from, to);
  if (step % shortest != Seconds(0)) {
    return invalid("a step is a multiple of the shortest windows of the counter's namespace, " +
                   std::to_string(shortest.count()) + " s");
  }
  to = request.only_past ? floor(to, step) : ceil(to, step);
  from = last ? to - ceil(Wall{request.last}, step).time_since_epoch() : floor(from, step);
  from = std::max(Wall{}, from);
  if ((to - from) / step > static_cast<std::int64_t>(kMaxRange)) return invalid(kTooMany);
  RangePlan plan{.begin = from, .step = step, .parts = {}};
  plan.counts = static_cast<std::size_t>((to - from) / step);
  const Wall read_until = std::min(to, now + Wall::duration(1));
  for (Wall at = from; at < read_until;) {
    const Wall step_end = floor(at, step) + step;
    const Windows* fits = nullptr;
    const Windows* partly = nullptr;  // better than nothing
    for (const Windows& tier : tiers) {
      const bool aligned = floor(at, tier.length) == at && at + tier.length <= step_end;
      if (aligned && tier.have(at)) fits = &tier;
      if (aligned && at >= tier.kept_from && partly == nullptr) partly = &tier;
    }
    plan.covered = plan.covered && fits != nullptr;
    if (fits == nullptr) fits = partly;
    if (fits == nullptr) {
      at = next_begin(tiers, at);
      continue;
    }
    if (plan.parts.size() == kMaxRange) return invalid(kTooMany);
    plan.parts.push_back({static_cast<std::size_t>((at - from) / step), fits->length, at});
    at += fits->length;
  }
  return plan;
}

bool counted_nothing(const std::vector<std::int64_t>& counts) {
  return std::ranges::all_of(counts, [](std::int64_t count) { return count == 0; });
}

// A later add is dated by a clock that may be behind this one: both are near the median, and this
// one may stand still where it was set back. Or the add says itself when it happened.
Wall settled_until(const Executor& executor, const NodeSettings& settings, std::string_view key,
                   Instant now, Instant as_of) {
  const std::optional<Wall> date = executor.date(now);
  if (!date) return {};
  const Wall::duration late = executor.namespaces().longest_late(key);
  return std::max(Wall{}, *date - std::chrono::ceil<Wall::duration>(now - as_of) -
                              std::chrono::ceil<Wall::duration>(3 * settings.clock_skew) - late);
}

}  // namespace quipu
