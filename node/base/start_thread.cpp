#include "node/base/start_thread.h"

#include <csignal>
#include <utility>

namespace quipu {
namespace {

// Of the calling thread, as long as this lives. A new thread inherits it.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_thread(std::function<void()> run) {
  const AllSignalsBlocked blocked;
  return std::thread(std::move(run));
}

}  // namespace quipu
