// samples.h: the shards and amounts that most storage tests use.
#pragma once

#include <cstdint>
#include <limits>

#include "protocol/ids.h"

namespace quipu::test {

inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

inline const ShardKey kLikes{"likes", 0};
inline const ShardKey kViews{"views", 0};

}  // namespace quipu::test
