// spelling.h: finds the known word that a mistyped one may mean. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quipu {

// The known word nearest to `word`, if at most `slips` characters must be inserted, removed or
// changed (Levenshtein).
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      std::span<const std::string> known,
                                                      std::size_t slips);

}  // namespace quipu
