// progress.h: a line on a terminal that says how far it is; nothing elsewhere.
//
//   [=======>            ]  37%  1,234,567 lines  310,000/s  ETA 12 s
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace quipu::cli {

class Progress {
 public:
  struct State {
    std::uint64_t lines = 0;  // settled
    std::uint64_t bytes = 0;  // read
  };

  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `size`: of the input, if it is known.
  void begin(std::chrono::steady_clock::time_point now, std::optional<std::uint64_t> size);
  // Draws now and then. REQUIRES: begin()
  void show(std::chrono::steady_clock::time_point now, const State& state);
  // Before something else is written to stderr.
  void clear();

 private:
  std::chrono::steady_clock::time_point began_{};
  std::optional<std::uint64_t> size_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace quipu::cli
