// cpu_seconds.h: the CPU time of a bench program so far.
#pragma once

#include <sys/resource.h>

namespace quipu::bench {

// The CPU time of the whole process, in user space and in the kernel.
inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace quipu::bench
