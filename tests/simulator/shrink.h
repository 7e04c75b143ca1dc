// shrink.h: the smallest run that still breaks the same promise (delta debugging,
// Zeller and Hildebrandt 2002, over options instead of input).
#pragma once

#include <functional>
#include <string>

#include "tests/simulator/world.h"

namespace quipu::sim {

// `told` gets every step. REQUIRES: `failing` fails.
[[nodiscard]] Report shrink(const Report& failing,
                            const std::function<void(const std::string&)>& told);

}  // namespace quipu::sim
