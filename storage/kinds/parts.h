// parts.h: what a kind does to all parts of a state (protocol/state.h): the bodies, by birth.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/state.h"
#include "quipu/kind.h"
#include "storage/kinds/units.h"

namespace quipu {

// Whether changes of this shard go to the counter's home: each actor has a share of its own, and a
// counter should have few.
[[nodiscard]] bool changes_at_home(ShardIndex shard);

// REQUIRES, of all but the first: the kind is not the sum unless there are no parts, and all bodies
// are sound.

// Whether each body of the entry is sound. A sum has none.
[[nodiscard]] bool is_sound(const DeltaEntry& entry);
[[nodiscard]] bool is_sound(const Delta& delta);

// The join, birth by birth. Returns whether anything changed. Notes the units that did; of a part
// that is new, all.
bool join_parts(Kind kind, std::vector<Part>& into, std::span<const Part> from, Units& changed);

// These units of each part.
[[nodiscard]] std::vector<Part> extract_parts(Kind kind, std::span<const Part> parts,
                                              std::span<const Unit> units);

[[nodiscard]] std::vector<std::string_view> bodies_of(std::span<const Part> parts);
[[nodiscard]] std::size_t bytes_of(std::span<const Part> parts);
// Whether a state may have so much: kMaxParts, kMaxBodies.
[[nodiscard]] inline bool has_room(std::span<const Part> parts) {
  return parts.size() <= kMaxParts && bytes_of(parts) <= kMaxBodies;
}

}  // namespace quipu
