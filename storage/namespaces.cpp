#include "storage/namespaces.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/check.h"
#include "protocol/ids.h"
#include "protocol/state_codec.h"
#include "storage/life.h"
#include "storage/stored_keys.h"

namespace quipu {
namespace {

// A form of its own for each content. Members of different versions compare its hash, so it is not
// that of FlatBuffers. What a later version adds is left out where it is not set. Where it is set,
// it begins with a word of its own. The other fields of a policy, and those behind it, are numbers
// or empty, so none of them can be taken for it.
void append(std::string& out, std::string_view field) { out.append(field).push_back('\0'); }
void append(std::string& out, const Stamp& stamp) {
  append(out, std::to_string(stamp.at));
  append(out, std::to_string(raw(stamp.node)));
}
template <class Value>
void append(std::string& out, const std::optional<Value>& value) {
  append(out, value ? std::to_string(static_cast<unsigned>(*value)) : std::string());
}
void append(std::string& out, const NamespacePolicy& policy) {
  append(out, policy.ack);
  append(out, policy.read);
  append(out, policy.shards);
  append(out, policy.strict);
  append(out, policy.ttl ? std::to_string(policy.ttl->count()) : std::string());
  if (policy.decide) append(out.append("decide "), policy.decide);
  for (const Tier& tier : policy.tiers) {
    append(out.append("tier "), std::to_string(tier.length.count()));
    append(out, tier.kept ? std::to_string(tier.kept->count()) : std::string());
  }
  if (policy.late) append(out.append("late "), std::to_string(policy.late->count()));
  if (policy.kind) append(out.append("kind "), policy.kind);
  if (policy.precision) append(out.append("precision "), policy.precision);
}

void append_windows(std::string& out, const NamespaceDefinition& definition) {
  if (definition.counted_from == 0 && definition.longest_late.count() == 0 &&
      definition.whole_from.empty())
    return;
  append(out.append("windows "), std::to_string(definition.counted_from));
  append(out, std::to_string(definition.longest_late.count()));
  for (const std::uint64_t from : definition.whole_from) append(out, std::to_string(from));
}

void append(std::string& out, const std::vector<FixedKind>& fixed) {
  for (const FixedKind& one : fixed) {
    append(out.append("fixed "), one.since);
    append(out, name_of(one.kind));
    append(out, std::to_string(one.precision));
  }
}

// In quotes, for a command line: the name may be a stranger's.
std::string shell_word(std::string_view name) {
  std::string word = "'";
  for (const char c : name) c == '\'' ? word += R"('"'"')" : word += c;
  return word + '\'';
}

template <class Content>
std::string canonical(const Content& content) {
  std::string bytes;
  append(bytes, content);
  return bytes;
}

// Two nodes never take one stamp, so equal stamps mean equal policies. Bytes from outside may say
// otherwise. Then the order of the contents decides, so that this stays a join.
bool is_later(const NamespaceDefinition& one, const NamespaceDefinition& other) {
  if (one.changed != other.changed) return one.changed > other.changed;
  const auto content = [](const NamespaceDefinition& of) {
    std::string bytes = canonical(of.policy);
    append_windows(bytes, of);
    return bytes;
  };
  return content(one) > content(other);
}

// Keeps what the drop does not void of both, and the latest ones of these.
std::vector<FixedKind> joined(const std::vector<FixedKind>& one,
                              const std::vector<FixedKind>& other, const Stamp& dropped) {
  std::vector<FixedKind> both;
  std::ranges::set_union(one, other, std::back_inserter(both));
  std::erase_if(both, [&](const FixedKind& each) { return each.since <= dropped; });
  if (both.size() > kMostFixed) both.erase(both.begin(), both.end() - kMostFixed);
  return both;
}

}  // namespace

bool merge(NamespaceDefinition& into, const NamespaceDefinition& from) {
  QUIPU_CHECK(into.name == from.name, "only versions of one definition are joined", into.name,
              from.name);
  const NamespaceDefinition before = into;
  if (is_later(from, into)) {
    const Stamp dropped = into.dropped;
    into = from;
    into.dropped = dropped;
  }
  into.dropped = std::max(into.dropped, from.dropped);
  into.fixed = joined(before.fixed, from.fixed, into.dropped);
  return into != before;
}

bool is_defined(const NamespaceDefinition& definition) {
  return definition.name.empty() || definition.changed > definition.dropped;
}

Hash128 hash_of(const NamespaceDefinition& definition) {
  std::string bytes;
  append(bytes, definition.name);
  append(bytes, definition.changed);
  append(bytes, definition.policy);
  append(bytes, definition.dropped);
  append_windows(bytes, definition);
  append(bytes, definition.fixed);
  return hash128(HashKey{}, bytes);
}

std::string undefined_namespace(std::string_view key) {
  const std::string_view name = namespace_of(key);
  if (name.size() > kMaxNamespaceName) {
    return "the key's namespace cannot be defined: what is before the first ':' has " +
           std::to_string(name.size()) + " bytes, and the name of a namespace has at most " +
           std::to_string(kMaxNamespaceName);
  }
  const std::string word = shell_word(name);
  return "the namespace " + word + " is not defined: quipu namespace create " + word;
}

std::string fixed_to(std::string_view key, Kind kind) {
  return "the namespace " + shell_word(namespace_of(key)) + " has counters of the kind " +
         name_of(kind) + ": its kind was fixed when it was created";
}

// ---- the table ----

bool NamespaceTable::merge(const NamespaceDefinition& from) {
  const auto at = all_.find(from.name);
  const bool known = at != all_.end();
  if (!known && !from.name.empty() && named() >= kMostHeld) return false;
  NamespaceDefinition joined = known ? at->second : NamespaceDefinition{.name = from.name};
  if (!quipu::merge(joined, from) && known) return false;
  if (known) {
    sum_ -= hash_of(at->second);
    count(at->second, -1);
  }
  sum_ += hash_of(joined);
  count(joined, 1);
  all_.insert_or_assign(from.name, std::move(joined));
  open_.insert(from.name);
  return true;
}

void NamespaceTable::load(NamespaceDefinition definition) {
  sum_ += hash_of(definition);
  count(definition, 1);
  std::string name = definition.name;
  const bool fresh = all_.emplace(std::move(name), std::move(definition)).second;
  QUIPU_CHECK(fresh, "a store holds a definition once", all_.size());
}

const NamespaceDefinition* NamespaceTable::find(std::string_view name) const {
  const auto at = all_.find(name);
  return at == all_.end() ? nullptr : &at->second;
}

const NamespaceDefinition& NamespaceTable::definition_of(std::string_view key) const {
  static const NamespaceDefinition kNone;
  const NamespaceDefinition* found = find(namespace_of(key));
  if (found == nullptr || !is_defined(*found)) found = find({});
  return found == nullptr || found->changed <= found->dropped ? kNone : *found;
}

std::chrono::milliseconds NamespaceTable::longest_late(std::string_view key) const {
  const NamespaceDefinition* const own = find(namespace_of(key));
  const auto late = definition_of(key).longest_late;
  return own == nullptr ? late : std::max(late, own->longest_late);
}

bool NamespaceTable::forbids(std::string_view key) const {
  const NamespaceDefinition* const by_default = find({});
  if (by_default == nullptr || !policy_in_force(*by_default).strict.value_or(false)) return false;
  const std::string_view name = namespace_of(key);
  const NamespaceDefinition* const found = find(name);
  return !name.empty() && (found == nullptr || !is_defined(*found));
}

bool NamespaceTable::decides_at_home(std::string_view key) const {
  return policy_of(key).decide == Decide::home;
}

Wall NamespaceTable::forgettable_from(const Window& window) const {
  Wall from{};
  const auto look = [&](const NamespaceDefinition* definition) {
    if (definition == nullptr) return;
    for (const Tier& tier : definition->policy.tiers) {
      if (tier.length != window.tier) continue;
      from = tier.kept ? std::max(from, window.end() + *tier.kept + kLifeGrace) : Wall::max();
    }
  };
  const NamespaceDefinition* const own = find(namespace_of(window.key));
  look(own);
  if (own == nullptr || !is_defined(*own)) look(find({}));
  return from == Wall{} ? Wall::max() : from;
}

void NamespaceTable::count(const NamespaceDefinition& definition, int by) {
  const NamespacePolicy& policy = policy_in_force(definition);
  if (policy.ack || policy.read || policy.strict.value_or(false) || policy.decide == Decide::home)
    by_operation_ += by;
  if (policy.shards.value_or(1) > 1 || policy.ttl) by_creation_ += by;
  if (!policy.tiers.empty()) by_tiers_ += by;
  if (quipu::fixed_kind(definition)) by_kind_ += by;
}

void NamespaceTable::put_open(Batch& batch) {
  for (const std::string& name : std::exchange(open_, {})) {
    std::string key = stored::namespace_definition(name);
    std::string value = encode_namespace(key, all_.at(name));
    batch.puts.push_back({std::move(key), std::move(value)});
  }
}

}  // namespace quipu
