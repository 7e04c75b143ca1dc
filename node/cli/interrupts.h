// interrupts.h: Ctrl-C and SIGTERM as something to look at instead of an end.
//
// To be made before the first thread, which inherits that they are blocked. When
// it goes, they mean the end again.
#pragma once

#include <csignal>

namespace quipu::cli {

class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // How many came so far.
  [[nodiscard]] int count();

 private:
  sigset_t before_{};
  int descriptor_ = -1;
  int count_ = 0;
};

}  // namespace quipu::cli
