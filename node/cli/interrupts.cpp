#include "node/cli/interrupts.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace quipu::cli {

Interrupts::Interrupts() {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  descriptor_ = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

Interrupts::~Interrupts() {
  if (descriptor_ >= 0) close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Interrupts::count() {
  signalfd_siginfo info{};
  while (descriptor_ >= 0 && read(descriptor_, &info, sizeof info) == sizeof info) ++count_;
  return count_;
}

}  // namespace quipu::cli
