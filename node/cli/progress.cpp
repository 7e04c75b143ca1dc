#include "node/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace quipu::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::size_t kUsualColumns = 80;
constexpr std::size_t kLongestBar = 32;   // with its brackets
constexpr std::size_t kShortestBar = 12;  // a shorter one would show nothing

// For a terminal that can clear a line.
bool is_terminal(int descriptor) {
  const char* const type = std::getenv("TERM");
  return isatty(descriptor) == 1 && (type == nullptr || std::string_view(type) != "dumb");
}

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

std::string bar(double share, std::size_t width) {
  const std::size_t inner = width - 2;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(inner));
  std::string text = "[" + std::string(filled, '=');
  if (filled < inner) text += ">" + std::string(inner - filled - 1, ' ');
  return text + "]";
}

// As much as fits into this many columns.
std::string line_of(const Progress::State& state, std::size_t columns) {
  std::vector<std::string> words = state.words;
  if (state.share)
    words.insert(words.begin(), std::to_string(static_cast<int>(*state.share * 100)) + "%");
  std::string text;
  for (const std::string& word : words) {
    if (text.empty()) {
      text = word.substr(0, columns);
    } else if (text.size() + 2 + word.size() <= columns) {
      text += "  " + word;
    } else {
      break;
    }
  }
  const std::size_t room = std::min(columns - text.size(), kLongestBar + 1);
  if (!state.share || room < kShortestBar + 1) return text;
  return bar(*state.share, room - 1) + ' ' + text;
}

}  // namespace

Progress::Progress() : terminal_(is_terminal(STDERR_FILENO)) {}

void Progress::show(std::chrono::steady_clock::time_point now, const State& state) {
  if (!terminal_) return;
  next_ = now + kRedraw;
  // The last column stays free, so that nothing wraps if the terminal has just become narrower.
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
  std::cerr << "\r\x1b[K\x1b[?7l" + line_of(state, columns) + "\x1b[?7h" << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace quipu::cli
