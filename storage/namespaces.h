// namespaces.h: the definitions of namespaces that a node holds, and how two versions of one
// are joined.
//
// The join is a semilattice: commutative, associative and idempotent, so members may learn of
// changes in any order and more than once.
//
//   changed, policy   of the version with the greater `changed`: the last change wins
//   dropped           the greater. A policy that is not later than the drop is void
//   fixed             of both. What is not later than the drop is void. The least one holds, so a
//                     kind that was fixed stays the same whatever is created later
//
// All of `fixed` is kept, not the least one alone: a drop that is still on its way may void that
// and not the next. There are at most kMostFixed, the latest ones. (Dropping the void ones and
// keeping the latest ones commute, so this is still a join.)
//
// A namespace is defined while its policy is later than its last drop. So a create or a set that
// is later than a drop wins over it, also if its node had not heard of that drop. (A rule by what
// the author knew would be a join, too. But it would undo a create after its client has got an
// acknowledgement, by a drop that was older.)
//
//   A, cut off: create at 20     B: create at 5, drop at 10     joined: defined, with A's policy
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "protocol/keyed_hash.h"
#include "protocol/namespace.h"
#include "protocol/window.h"
#include "storage/store.h"

namespace quipu {

// Returns whether `into` has changed. REQUIRES: both have one name.
bool merge(NamespaceDefinition& into, const NamespaceDefinition& from);
// Its policy is later than its last drop. The default namespace is always defined.
[[nodiscard]] bool is_defined(const NamespaceDefinition& definition);
[[nodiscard]] Hash128 hash_of(const NamespaceDefinition& definition);
// Why an add to this key is refused, where undefined namespaces are. For people.
[[nodiscard]] std::string undefined_namespace(std::string_view key);
// Why a change of another kind does not create a counter of this key, whose namespace fixes that
// kind. For people.
[[nodiscard]] std::string fixed_to(std::string_view key, Kind kind);

// Invariant: sum() is the sum of the hashes of all definitions, dropped ones included.
class NamespaceTable {
 public:
  using Definitions = std::map<std::string, NamespaceDefinition, std::less<>>;

  // The most definitions, without that of the default namespace. Members that do not hear of each
  // other may define kMaxNamespaces each.
  static constexpr std::size_t kMostHeld = 3 * kMaxNamespaces;

  // Returns whether anything has changed, which is then in the open record's write. Ignores a name
  // beyond kMostHeld.
  bool merge(const NamespaceDefinition& from);
  // Recovery: it is in the store already.
  void load(NamespaceDefinition definition);

  // Dropped ones, too.
  [[nodiscard]] const Definitions& all() const { return all_; }
  [[nodiscard]] const NamespaceDefinition* find(std::string_view name) const;
  [[nodiscard]] const Hash128& sum() const { return sum_; }
  // How many, without that of the default namespace.
  [[nodiscard]] std::size_t named() const { return all_.size() - all_.count({}); }

  // ---- what holds for a key ----
  // That of its namespace if it is defined, else of the default namespace.
  [[nodiscard]] const NamespaceDefinition& definition_of(std::string_view key) const;
  [[nodiscard]] const NamespacePolicy& policy_of(std::string_view key) const {
    return definition_of(key).policy;
  }
  // The default namespace is strict, and the key's is not defined.
  [[nodiscard]] bool forbids(std::string_view key) const;
  // The key's changes without a token go to its home, where conditional commands decide.
  [[nodiscard]] bool decides_at_home(std::string_view key) const;
  // The kind of its new counters. Nothing: any.
  [[nodiscard]] std::optional<FixedKind> fixed_kind(std::string_view key) const {
    return by_kind_ > 0 ? quipu::fixed_kind(definition_of(key)) : std::nullopt;
  }
  // How long its new counters live. 0: for ever.
  [[nodiscard]] std::chrono::milliseconds usual_ttl(std::string_view key) const {
    using Time = std::chrono::milliseconds;
    return by_creation() ? policy_of(key).ttl.value_or(Time(0)) : Time(0);
  }
  // Whether any policy matters to an operation (a level, strict, or a home), to the creation of a
  // counter, or to each add (tiers). While none does, nobody need look a key's namespace up. (Only
  // an executor looks for a fixed kind, where it creates a counter.)
  [[nodiscard]] bool by_operation() const { return by_operation_ > 0; }
  [[nodiscard]] bool by_creation() const { return by_creation_ > 0; }
  [[nodiscard]] bool by_tiers() const { return by_tiers_ > 0; }
  [[nodiscard]] bool matter() const { return by_operation() || by_creation() || by_tiers(); }

  // ---- windows ----
  // From when on a window may be forgotten. Wall::max(): it is kept, maybe because nobody knows its
  // tier. (Members that disagree about that for a while do not drop and repair it in turn: who may
  // forget it does not take it from others.)
  [[nodiscard]] Wall forgettable_from(const Window& window) const;
  // How long ago an add to the key may say that it happened, by any version of its definition: some
  // member may not have heard of the newest.
  [[nodiscard]] std::chrono::milliseconds longest_late(std::string_view key) const;

  // ---- seals ----
  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  void put_open(Batch& batch);

 private:
  void count(const NamespaceDefinition& definition, int by);

  Definitions all_;
  Hash128 sum_;
  int by_operation_ = 0;        // policies that matter to an operation
  int by_creation_ = 0;         // … to the creation of a counter
  int by_tiers_ = 0;            // … to each add
  int by_kind_ = 0;             // definitions that fix a kind
  std::set<std::string> open_;  // names that have changed since the last seal
};

}  // namespace quipu
