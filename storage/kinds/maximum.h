// maximum.h: the kind that keeps the greatest number it was given: a high-water mark.
//
//   offer 5, offer 9, offer 7  ─▶  9
//
// Join: the greater number, the simplest of join-semilattices (Shapiro, Preguica, Baquero and
// Zawirski 2011, "Conflict-free replicated data types"). So offers need no actor and no token, and
// every node may execute them.
//
//   body    = the number + 2^63 in 8 bytes, the highest first. So greater numbers are greater bytes
//   words   = 'm' and the number in 8 bytes, the lowest first
//   reply   = one byte: 1 if the offer raised the number or began the counter, else 0
//   answer  = the number. Of several counters the greatest; of none 0
//
// There is one unit, 0. An extract without it has the least number, −2^63, which raises none.
//
// Downside: the number never falls. To begin anew, reset the counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/kinds/kind.h"

namespace quipu {

extern const KindRules kMaximum;

namespace maximum {

[[nodiscard]] std::string words_of(std::int64_t number);
// Whether the op raised the number or began the counter, from its reply. A malformed one says no.
[[nodiscard]] bool raised(std::string_view reply);

inline constexpr std::string_view kNumberQuestion{};
// From the answer. nullopt: it is malformed.
[[nodiscard]] std::optional<std::int64_t> number(std::string_view reply);

}  // namespace maximum
}  // namespace quipu
