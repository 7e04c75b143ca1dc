// random.h: the one seeded generator (xoshiro256**, Blackman and Vigna 2018).
// The caller that builds a core passes one in: seeded from the operating system's entropy
// in a daemon, from the run's seed in a simulation. Not for secrets.
#pragma once

#include <cstdint>

namespace quipu {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  [[nodiscard]] std::uint64_t next();
  // Uniform in [0, bound). REQUIRES: bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  // Never 0, which the ids use for "none".
  template <class Id>
  [[nodiscard]] Id id() {
    std::uint64_t n = next();
    while (n == 0) n = next();
    return Id{n};
  }
  // An independent generator for a component.
  [[nodiscard]] Random split() { return Random(next()); }

 private:
  std::uint64_t state_[4];
};

}  // namespace quipu
