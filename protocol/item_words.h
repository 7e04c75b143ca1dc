// item_words.h: what a library says to counters of items: words and questions of any such kind.
// Each kind's own words are in distinct_words.h, frequency_words.h and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "protocol/keyed_hash.h"
#include "quipu/kind.h"

namespace quipu {

struct Item {
  std::string name;
  std::uint64_t count = 1;  // `distinct` ignores it
};

// The most of one change or question, so that its words stay below their limit.
[[nodiscard]] std::size_t most_items(Kind kind);
// Why these cannot be added by one change, for people. Empty: they can.
[[nodiscard]] std::string objection(Kind kind, std::span<const Item> items);

// REQUIRES: a kind that counts items, and no more than most_items(kind). `placement`: the cluster's
// placement key (protocol/element.h).
[[nodiscard]] std::string words_to_add(Kind kind, HashKey placement, std::span<const Item> items);
// A question about each of these items. REQUIRES: not `distinct`, which cannot answer it.
[[nodiscard]] std::string question_about(Kind kind, HashKey placement,
                                         std::span<const std::string> items);

}  // namespace quipu
