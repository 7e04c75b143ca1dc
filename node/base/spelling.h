// spelling.h: which known word somebody may have meant. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quipu {

// The known word that is nearest to `word`, if it is at most `slips` away: characters to
// be put in, left out or changed (Levenshtein).
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      std::span<const std::string> known,
                                                      std::size_t slips);

}  // namespace quipu
