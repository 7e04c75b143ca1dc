// ticker.h: a thread that calls a function again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace quipu {

class Ticker {
 public:
  // `name`: as for start_thread(). The first call comes after `every`.
  Ticker(const char* name, std::chrono::milliseconds every, std::function<void()> tick);
  // Waits for a call that is under way.
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run();

  const std::chrono::milliseconds every_;
  const std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace quipu
