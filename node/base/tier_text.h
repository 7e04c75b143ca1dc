// tier_text.h: the tiers of a namespace as people write them, in settings, on command lines and in
// RESP: "1m for 2d, 1h for 90d, 1d for ever". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quipu/namespace.h"

namespace quipu {

inline constexpr const char* kTiersExample = "1m for 2d, 1h for 90d, 1d for ever";

// Nothing: it does not read so. Whether a namespace may have these tiers is not checked.
[[nodiscard]] std::optional<std::vector<Tier>> to_tiers(std::string_view text);
[[nodiscard]] std::string to_text(const std::vector<Tier>& tiers);

}  // namespace quipu
