#include "cluster/changes/decision.h"

#include <algorithm>

namespace quipu {

Decision::Held Decision::held() const {
  const Entry* const entry = executor_.map().find(placement_, ref_);
  if (entry == nullptr) return {.total = 0};
  const Life life = entry->life();
  const std::optional<Wall> today = executor_.date();
  if (today && is_over(life, *today)) return {.total = 0};
  const Total total = entry->total();
  return {total.exists, narrow(total.sum), in_force(life) ? life.at : Wall{}};
}

std::optional<Wall> Decision::lives_from() const {
  const std::optional<Wall> today = executor_.date();
  const Entry* const entry = executor_.map().find(placement_, ref_);
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

Code Decision::expire(Wall at) {
  return executor_
      .apply({.kind = OpKind::expire, .ref = ref_, .amount = at.time_since_epoch().count()},
             placement_)
      .code;
}

Code Decision::reset() {
  return executor_.apply({.kind = OpKind::reset, .ref = ref_}, placement_).code;
}

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
    default:
      return std::string(describe(code).name);
  }
}

}  // namespace quipu
