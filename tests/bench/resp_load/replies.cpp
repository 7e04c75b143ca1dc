#include "tests/bench/resp_load/replies.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace quipu::bench {
namespace {

constexpr std::size_t kMaxLine = 4096;

[[noreturn]] void fail(std::string_view what, std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  throw std::runtime_error(std::string(what).append(": ").append(line));
}

// The 123 of "$123\r\n".
std::int64_t number(std::string_view line) {
  std::int64_t value = 0;
  const char* end = line.data() + line.size() - 2;
  const auto [at, error] = std::from_chars(line.data() + 1, end, value);
  if (error != std::errc{} || at != end || value < -1) fail("no length", line);
  return value;
}

}  // namespace

std::size_t Replies::take(std::string_view bytes) {
  std::size_t whole = 0;
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const std::size_t some = std::min(skip_, bytes.size());
      bytes.remove_prefix(some);
      skip_ -= some;
      if (skip_ == 0) whole += end_item();
      continue;
    }
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_ += bytes;
      if (partial_.size() > kMaxLine) fail("no end of line", partial_);
      break;
    }
    const std::string_view line = bytes.substr(0, end + 1);
    bytes.remove_prefix(end + 1);
    if (partial_.empty()) {
      whole += read_line(line);
    } else {
      whole += read_line(partial_.append(line));
      partial_.clear();
    }
  }
  return whole;
}

std::size_t Replies::read_line(std::string_view line) {
  if (line.front() == '-') fail("the server answered with an error", line);
  const char wanted = items_ > 0 ? item_ : kinds_[next_];
  if (line.size() < 3 || !line.ends_with("\r\n") || line.front() != wanted)
    fail("the server answered what was not asked", line);
  if (wanted == '$') {
    const std::int64_t size = number(line);
    if (size < 0) return end_item();
    skip_ = static_cast<std::size_t>(size) + 2;
    return 0;
  }
  if (wanted == '*') {
    const std::int64_t items = number(line);
    if (items < 1) fail("an empty array", line);
    items_ = static_cast<std::size_t>(items);
    return 0;
  }
  return end_item();
}

std::size_t Replies::end_item() {
  if (items_ > 0 && --items_ > 0) return 0;
  next_ = (next_ + 1) % kinds_.size();
  return next_ == 0 ? 1 : 0;
}

}  // namespace quipu::bench
