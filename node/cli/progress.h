// progress.h: a line with the progress, on a terminal only.
//
//   [=======>            ] 37%  1,234,567 lines  310,000/s  ETA 12 s
//
// The line is never wider than the terminal. The width is read each time. Parts that do not
// fit are left out: the bar first, then the last words.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace quipu::cli {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  struct State {
    std::optional<double> share{};     // of the whole, if known: 0 to 1
    std::vector<std::string> words{};  // the most important one first
  };

  // Whether it is time to show() something.
  [[nodiscard]] bool due(std::chrono::steady_clock::time_point now) const {
    return terminal_ && now >= next_;
  }
  void show(std::chrono::steady_clock::time_point now, const State& state);
  // Call it before other output to stderr.
  void clear();

 private:
  const bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace quipu::cli
