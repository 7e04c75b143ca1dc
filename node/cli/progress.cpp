#include "node/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>

#include "node/cli/output.h"

namespace quipu::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::size_t kWidth = 30;

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
  std::string text = "[" + std::string(filled, '=');
  if (filled < kWidth) text += ">" + std::string(kWidth - filled - 1, ' ');
  return text + "] " + std::to_string(static_cast<int>(share * 100)) + "%  ";
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::begin(Clock::time_point now, std::optional<std::uint64_t> size) {
  began_ = now;
  size_ = size;
}

void Progress::show(Clock::time_point now, const State& state) {
  if (!terminal_ || now < next_) return;
  next_ = now + kRedraw;
  const double seconds = std::max(std::chrono::duration<double>(now - began_).count(), 0.001);
  std::string text = "\r\x1b[K";
  const bool known = size_ && *size_ > 0;
  const double share =
      known ? std::min(static_cast<double>(state.bytes) / static_cast<double>(*size_), 1.0) : 0;
  if (known) text += bar(share);
  text += for_people(state.lines) + " lines  ";
  text += for_people(static_cast<std::uint64_t>(static_cast<double>(state.lines) / seconds)) + "/s";
  if (known && share > 0.01) {
    const std::chrono::duration<double> left(seconds * (1 - share) / share);
    text += "  ETA " + for_people(std::chrono::round<std::chrono::milliseconds>(left));
  }
  std::cerr << text << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace quipu::cli
