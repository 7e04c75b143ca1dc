// entropy.h: the only place that seeds a Random from the system's randomness.
#pragma once

#include "protocol/random.h"

namespace quipu {

// Each call uses a new seed. Any thread.
[[nodiscard]] Random random_from_system();

}  // namespace quipu
