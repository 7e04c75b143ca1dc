// other_words.h: what somebody may mean who writes a word that is no command or option: the name
// that another program has for it, or one that is spelled much the same.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace quipu::cli {

// Which of our commands, such as "cluster status". `commands`: the names of all.
[[nodiscard]] std::optional<std::string> meant_command(std::string_view word,
                                                       std::span<const std::string> commands);
// Which command of quipu namespace, such as "ls". `commands`: the names of these.
[[nodiscard]] std::optional<std::string> meant_namespace_command(
    std::string_view word, std::span<const std::string> commands);
// Which of these words, by its spelling alone.
[[nodiscard]] std::optional<std::string> similar_word(std::string_view word,
                                                      std::span<const std::string> known);

}  // namespace quipu::cli
