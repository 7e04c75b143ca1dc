// entropy.h: the one place where the system's randomness becomes a Random.
#pragma once

#include "protocol/random.h"

namespace quipu {

// Seeded anew by each call. Any thread.
[[nodiscard]] Random random_from_system();

}  // namespace quipu
