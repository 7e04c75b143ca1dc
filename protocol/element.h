// element.h: the hash by which kinds know an element, such as a visitor's name.
//
// The kinds keep no elements, only what they read from these hashes. An element can never be
// counted by its old hash and by a new one as the same element, so neither function ever changes.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/keyed_hash.h"

namespace quipu {

// The key of all elements' hashes. With a public hash, a client could choose elements that push a
// count up or hold it down. There is one salt in a cluster, so that counters of any two namespaces
// can be joined. It follows from the cluster's placement key, so each node has it from its start.
//
// The text was chosen when `distinct` was the only kind with elements. Stored bodies depend on it.
[[nodiscard]] inline HashKey element_salt(HashKey placement) {
  return HashKey{hash64(placement, "quipu: salt of distinct")};
}
[[nodiscard]] inline std::uint64_t element_hash(HashKey salt, std::string_view element) {
  return hash64(salt, element);
}

}  // namespace quipu
