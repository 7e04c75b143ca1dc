// namespaces.h: the definitions of namespaces that a node holds, and how two versions of one
// are joined.
//
// The join is a semilattice: commutative, associative and idempotent, so members may learn of
// changes in any order and more than once.
//
//   changed, policy   of the version with the greater `changed`: the last change wins
//   dropped           the greater. Then a policy that is not later than the drop is void
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
#include <set>
#include <string>
#include <string_view>

#include "protocol/keyed_hash.h"
#include "protocol/namespace.h"
#include "storage/store.h"

namespace quipu {

// Returns whether `into` has changed. REQUIRES: both have one name.
bool merge(NamespaceDefinition& into, const NamespaceDefinition& from);
// Its policy is later than its last drop. The default namespace is always defined.
[[nodiscard]] bool is_defined(const NamespaceDefinition& definition);
[[nodiscard]] Hash128 hash_of(const NamespaceDefinition& definition);
// Why an add to this key is refused, where undefined namespaces are. For people.
[[nodiscard]] std::string undefined_namespace(std::string_view key);
// Nothing, or why this policy cannot be that of this namespace, for people.
[[nodiscard]] std::string objection(std::string_view name, const NamespacePolicy& policy);

// Invariant: sum() is the sum of the hashes of all definitions, dropped ones included.
class NamespaceTable {
 public:
  using Definitions = std::map<std::string, NamespaceDefinition, std::less<>>;

  // The most definitions, without that of the default namespace. Members that do not hear of each
  // other may define kMaxNamespaces each.
  static constexpr std::size_t kMostHeld = 4 * kMaxNamespaces;

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
  [[nodiscard]] const NamespacePolicy& policy_of(std::string_view key) const;
  // The default namespace is strict, and the key's is not defined.
  [[nodiscard]] bool forbids(std::string_view key) const;
  // Whether any policy matters to an operation (a level, or strict), or to the creation of a
  // counter. While none does, nobody need look a key's namespace up.
  [[nodiscard]] bool by_operation() const { return by_operation_ > 0; }
  [[nodiscard]] bool by_creation() const { return by_creation_ > 0; }
  [[nodiscard]] bool matter() const { return by_operation() || by_creation(); }

  // ---- seals ----
  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  void put_open(Batch& batch);

 private:
  void count(const NamespacePolicy& policy, int by);

  Definitions all_;
  Hash128 sum_;
  int by_operation_ = 0;        // policies that matter to an operation
  int by_creation_ = 0;         // … to the creation of a counter
  std::set<std::string> open_;  // names that have changed since the last seal
};

}  // namespace quipu
