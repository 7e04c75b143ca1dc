#include "node/base/ticker.h"

#include <utility>

#include "node/base/start_thread.h"

namespace quipu {

Ticker::Ticker(const char* name, std::chrono::milliseconds every, std::function<void()> tick)
    : every_(every), tick_(std::move(tick)), thread_(start_thread(name, [this] { run(); })) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Ticker::run() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, every_, [this] { return ending_; })) {
    lock.unlock();
    tick_();
    lock.lock();
  }
}

}  // namespace quipu
