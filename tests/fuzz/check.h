// check.h: how a target reports a wrong answer.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace quipu::fuzz {

// Not assert(): it checks what is visible outside, not only our own mistakes.
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: wrong: %s\n", what);
  std::abort();
}

}  // namespace quipu::fuzz
