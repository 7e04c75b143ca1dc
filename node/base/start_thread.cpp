#include "node/base/start_thread.h"

#include <utility>

namespace quipu {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::thread start_thread(const char* name, std::function<void()> run) {
  const SignalsBlocked blocked;
  std::thread started(std::move(run));
  ::pthread_setname_np(started.native_handle(), name);
  return started;
}

}  // namespace quipu
