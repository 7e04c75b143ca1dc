// interrupts.h: turns Ctrl-C and SIGTERM into a count, instead of the end of the process.
//
// Make it before the first thread, which inherits the blocked signals. When it is destroyed,
// the signals end the process again.
#pragma once

#include <csignal>

namespace quipu::cli {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // How many signals came so far.
  [[nodiscard]] int count();

 private:
  sigset_t before_{};
  int descriptor_ = -1;
  int count_ = 0;
};

}  // namespace quipu::cli
