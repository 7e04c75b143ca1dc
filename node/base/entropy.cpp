#include "node/base/entropy.h"

#include <random>

namespace quipu {

Random random_from_system() {
  std::random_device entropy;  // one draw has 32 bits
  const std::uint64_t high = entropy();
  return Random(high << 32 | entropy());
}

}  // namespace quipu
