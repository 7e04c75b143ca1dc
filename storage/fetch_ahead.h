// fetch_ahead.h: memory that is looked at soon, brought into the cache meanwhile.
#pragma once

namespace quipu {

// To GCC 12 a function that only prefetches has no effect, and calls of it are left out
// where it sees it and does not inline it. The empty statement is an effect.
inline void fetch_ahead(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

}  // namespace quipu
