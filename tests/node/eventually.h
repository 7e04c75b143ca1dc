// eventually.h: waits for other threads: polls a condition with a deadline.
#pragma once

#include <chrono>
#include <thread>

namespace quipu::test {

// Far more than anything here takes, even with sanitizers. A test that reaches it fails.
inline constexpr std::chrono::seconds kPatience{20};

template <class Condition>
[[nodiscard]] bool eventually(Condition condition, std::chrono::milliseconds patience = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between two looks, not to wait
  }
  return true;
}

}  // namespace quipu::test
