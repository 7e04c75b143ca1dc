#include "cluster/changes/decision.h"

#include <algorithm>

namespace quipu {

std::string why_wrong_type(const Executor& executor, const ShardRef& ref,
                           const Placement& placement) {
  const std::optional<Kind> fixed = executor.fixed_to_other(ref);
  const auto other = executor.other_kind(ref, placement);
  if (fixed && !other) return fixed_to(ref.key, *fixed);
  std::string why(kOtherKind);
  return other ? why.append(", ").append(name_of(kind_of(other->first.shard))) : why;
}

Decision::Held Decision::held() const {
  const Entry* const entry = executor_.map().find(placement_, ref_);
  if (entry == nullptr || !entry->shows_counter(executor_.date())) {
    if (const auto other = executor_.other_kind(ref_, placement_))
      return {true, 0, other->ends, kind_of(other->first.shard)};
  }
  if (entry == nullptr) return {.total = 0};
  const Life life = entry->life();
  const std::optional<Wall> today = executor_.date();
  if (today && is_over(life, *today)) return {.total = 0};
  const Total total = entry->total();
  return {total.exists, narrow(total.sum), in_force(life) ? life.at : Wall{}};
}

ShardKey Decision::first() const {
  const Kind kind = held().kind;
  return {std::string(ref_.key), shard_of(kind)};
}

std::optional<Wall> Decision::lives_from() const {
  const std::optional<Wall> today = executor_.date();
  const ShardKey counter = first();
  const Entry* const entry = executor_.map().find(executor_.map().place(counter), counter);
  if (!today || entry == nullptr) return today;
  const Life life = entry->life();
  return std::max({*today, life.ended, is_over(life, *today) ? life.at : Wall{}});
}

bool Decision::forbidden() const {
  const NamespaceTable& namespaces = executor_.namespaces();
  return namespaces.by_operation() && namespaces.forbids(ref_.key);
}

Wall::duration Decision::usual_ttl() const { return executor_.namespaces().usual_ttl(ref_.key); }

Code Decision::add(std::int64_t amount) {
  if (forbidden()) return Code::undefined_namespace;
  Change change{.kind = OpKind::add, .ref = ref_, .amount = amount};
  change.usual_ttl = usual_ttl();
  return executor_.apply(change, placement_).code;
}

Code Decision::set(const NewValue& wanted) {
  if (forbidden()) return Code::undefined_namespace;
  return executor_.set(ref_, wanted, placement_).code;
}

// Two nodes may have created counters of different kinds.
Code Decision::apply_to_all_kinds(OpKind kind, std::int64_t amount) {
  std::vector<ShardKey> counters = executor_.map().under_other_kinds(ref_, placement_);
  counters.insert(counters.begin(), {std::string(ref_.key), ref_.shard});
  for (const ShardKey& counter : counters) {
    const Placement placement = executor_.map().place(counter);
    const Entry* const entry = executor_.map().find(placement, counter);
    if (entry == nullptr || !entry->shows_counter(executor_.date())) continue;
    const Applied applied =
        executor_.apply({.kind = kind, .ref = counter, .amount = amount}, placement);
    if (applied.code != Code::ok) return applied.code;
  }
  return Code::ok;
}

Code Decision::expire(Wall at) {
  return apply_to_all_kinds(OpKind::expire, at.time_since_epoch().count());
}

Code Decision::reset() { return apply_to_all_kinds(OpKind::reset, 0); }

Decision* Decisions::find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(all_, key, {}, &Decision::key);
  return at != all_.end() && at->key() == key ? &*at : nullptr;
}

std::string Decision::reason(Code code) const {
  switch (code) {
    case Code::unavailable:
      return clock_.doubt();
    case Code::undefined_namespace:
      return undefined_namespace(ref_.key);
    case Code::wrong_type:
      return why_wrong_type(executor_, ref_, placement_);
    default:
      return std::string(describe(code).name);
  }
}

}  // namespace quipu
