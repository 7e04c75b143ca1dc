#include "node/cli/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace quipu::cli {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

}  // namespace

LineReader::Fill LineReader::fill(std::chrono::milliseconds wait) {
  if (end_) return Fill::end;
  pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const int found = poll(&ready, 1, static_cast<int>(wait.count()));
  if (found == 0 || (found < 0 && errno == EINTR)) return Fill::nothing_yet;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kChunk);
  const ssize_t got = read(descriptor_, buffer_.data() + held, kChunk);
  buffer_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return errno == EINTR || errno == EAGAIN ? Fill::nothing_yet : Fill::failed;
  bytes_read_ += static_cast<std::uint64_t>(got);
  end_ = got == 0;
  return end_ ? Fill::end : Fill::more;
}

std::optional<LineReader::Line> LineReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const std::size_t newline = rest.find('\n');
  if (newline == std::string_view::npos) return rest_of_file();
  begin_ += newline + 1;
  const bool too_long = std::exchange(skipping_, false) || newline > kMaxLine;
  return Line{++lines_, too_long ? std::string_view() : rest.substr(0, newline), too_long, false};
}

std::optional<LineReader::Line> LineReader::rest_of_file() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() > kMaxLine) skip_long_line();
  if (!end_ || (rest.empty() && !skipping_)) return std::nullopt;
  begin_ = buffer_.size();
  const bool too_long = std::exchange(skipping_, false);
  return Line{++lines_, too_long ? std::string_view() : rest, too_long, true};
}

void LineReader::skip_long_line() {
  skipping_ = true;
  buffer_.clear();
  begin_ = 0;
}

}  // namespace quipu::cli
