// check.h: how a target says that an answer was wrong.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace quipu::fuzz {

// Not assert(): it is also for what the world sees, not only for our own slips.
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: wrong: %s\n", what);
  std::abort();
}

}  // namespace quipu::fuzz
