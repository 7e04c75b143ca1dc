// level_names.h: the levels of adds and reads, where commands decide, and kinds of counters, as
// people write them, in settings, on command lines and in RESP.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "quipu/kind.h"
#include "quipu/levels.h"
#include "quipu/namespace.h"

namespace quipu {

// By number. A level that a namespace decides has none, nor has a number without a kind.
inline constexpr std::array<std::string_view, 3> kAckNames{"memory", "disk", "quorum"};
inline constexpr std::array<std::string_view, 3> kReadLevelNames{"local", "fresh", "strong"};
inline constexpr std::array<std::string_view, 2> kDecideNames{"local", "home"};
inline constexpr auto kKindNames = [] {
  std::array<std::string_view, static_cast<std::size_t>(kLastKind) + 1> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Kind>(i));
  return names;
}();
[[nodiscard]] constexpr const auto& level_names(Ack) { return kAckNames; }
[[nodiscard]] constexpr const auto& level_names(ReadLevel) { return kReadLevelNames; }
[[nodiscard]] constexpr const auto& level_names(Decide) { return kDecideNames; }
[[nodiscard]] constexpr const auto& level_names(Kind) { return kKindNames; }
static_assert(Ack::memory == Ack{0} && Ack::disk == Ack{1} && Ack::quorum == Ack{2});
static_assert(ReadLevel::local == ReadLevel{0} && ReadLevel::fresh == ReadLevel{1} &&
              ReadLevel::strong == ReadLevel{2});
static_assert(Decide::local == Decide{0} && Decide::home == Decide{1});

// REQUIRES: it is not by_default.
template <class Level>
[[nodiscard]] constexpr std::string_view level_name(Level level) {
  return level_names(level).at(static_cast<std::size_t>(level));
}

// Nothing: there is no such level. `same` compares the word with a name.
template <class Level, class Same = std::equal_to<>>
[[nodiscard]] constexpr std::optional<Level> level_named(std::string_view word, Same same = {}) {
  const auto& names = level_names(Level{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && same(word, names[i])) return static_cast<Level>(i);
  }
  return std::nullopt;
}

}  // namespace quipu
