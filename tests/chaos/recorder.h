// recorder.h: records the history while it happens, and keeps the run's clock.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "tests/chaos/history.h"
#include "tests/chaos/kinds.h"

namespace quipu::chaos {

class Recorder {
 public:
  [[nodiscard]] Time now() const { return std::chrono::steady_clock::now() - began_; }

  // Each returns a number for its end. The time is read here: before the call at the beginning,
  // and first in the callback at the end. So an operation's true interval lies within the
  // recorded one.
  std::size_t begin(Add add);
  std::size_t begin(Read read);
  std::size_t begin(Fault fault);
  void end_add(std::size_t add, const Status& status);
  void end_read(std::size_t read, const Result<Told>& told);
  void end_fault(std::size_t fault);
  void add(std::vector<Read> reads);
  void set_finals(std::vector<Read> finals);

  [[nodiscard]] History copy() const;

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  History history_;
};

// Fills in the answer, without the time.
void note(Read& read, const Result<Told>& told);

}  // namespace quipu::chaos
