// start_thread.h: starts each of Quipu's own threads. They block all signals: signals are for the
// threads of the application. So none is handled while a thread begins or ends, and SIGTTOU and
// SIGPIPE do not stop or end the process because of what a thread writes.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace quipu {

// `name`: as debuggers and top(1) show it, 15 bytes at most.
// Throws std::system_error if the system has no thread left.
[[nodiscard]] std::thread start_thread(const char* name, std::function<void()> run);

// For a library that starts threads: they inherit what the calling thread blocks while this lives.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace quipu
