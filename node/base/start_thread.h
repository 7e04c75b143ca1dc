// start_thread.h: starts each of Quipu's own threads. They block all signals: signals are for the
// threads of the application. So none is handled while a thread begins or ends, and SIGTTOU and
// SIGPIPE do not stop or end the process because of what a thread writes.
#pragma once

#include <functional>
#include <thread>

namespace quipu {

// Throws std::system_error if the system has no thread left.
[[nodiscard]] std::thread start_thread(std::function<void()> run);

}  // namespace quipu
