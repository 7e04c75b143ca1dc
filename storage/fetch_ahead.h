// fetch_ahead.h: prefetches memory that will be used soon.
#pragma once

namespace quipu {

// GCC 12 treats a function that only prefetches as without effect, and removes calls that it
// sees and does not inline. The empty statement is an effect.
inline void fetch_ahead(const void* at) {
  __builtin_prefetch(at);
  asm volatile("");
}

}  // namespace quipu
