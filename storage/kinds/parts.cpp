#include "storage/kinds/parts.h"

#include <algorithm>

#include "protocol/check.h"
#include "protocol/shard_number.h"
#include "storage/kinds/kind.h"

namespace quipu {

bool changes_at_home(ShardIndex shard) {
  return !is_sum(shard) && rules_of(kind_of(shard)).share != nullptr;
}

bool is_sound(const DeltaEntry& entry) {
  if (entry.parts.empty()) return true;
  const KindRules& rules = rules_of(kind_of(entry.ref.shard));
  return std::ranges::all_of(entry.parts, [&](const Part& part) {
    return rules.sound(part.body) &&
           (rules.slices == nullptr || rules.slices->slice(part.body) == index_of(entry.ref.shard));
  });
}

bool is_sound(const Delta& delta) {
  if (!delta.has_parts()) return true;
  bool sound = true;
  delta.for_each([&](const DeltaEntry& entry) { sound = sound && is_sound(entry); });
  return sound;
}

bool join_parts(Kind kind, std::vector<Part>& into, std::span<const Part> from, Units& changed) {
  if (from.empty()) return false;
  const KindRules& rules = rules_of(kind);
  bool any = false;
  for (const Part& theirs : from) {
    const auto at = std::ranges::lower_bound(into, theirs.born, {}, &Part::born);
    if (at == into.end() || at->born != theirs.born) {
      into.insert(at, theirs);
      changed.add_all();
      any = true;
      continue;
    }
    Edit edit(at->body.data(), at->body.size());
    rules.join(edit, theirs.body);
    if (!edit.changed()) continue;
    changed.add(edit.units());
    any = true;
    if (edit.replaced()) at->body = std::move(*edit.replaced());
  }
  return any;
}

std::vector<Part> extract_parts(Kind kind, std::span<const Part> parts,
                                std::span<const Unit> units) {
  const KindRules& rules = rules_of(kind);
  std::vector<Part> some;
  some.reserve(parts.size());
  for (const Part& part : parts) some.push_back({part.born, rules.extract(part.body, units)});
  return some;
}

std::vector<std::string_view> bodies_of(std::span<const Part> parts) {
  std::vector<std::string_view> bodies;
  bodies.reserve(parts.size());
  for (const Part& part : parts) bodies.push_back(part.body);
  return bodies;
}

std::size_t bytes_of(std::span<const Part> parts) {
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += part.body.size();
  return bytes;
}

}  // namespace quipu
