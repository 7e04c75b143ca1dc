// line_reader.h: splits the input of a descriptor into lines, in bounded memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quipu::cli {

class LineReader {
 public:
  // A longer line is skipped and reported as too long. This is room for the longest key, any
  // amount, and some blanks.
  static constexpr std::size_t kMaxLine = 1024;

  // Does not own the descriptor.
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  enum class Fill { more, nothing_yet, end, failed };
  // Waits up to `wait` for more. Invalidates lines. `end` again after the end.
  [[nodiscard]] Fill fill(std::chrono::milliseconds wait);

  struct Line {
    std::uint64_t number = 0;  // from 1
    std::string_view text;     // without its end
    bool too_long = false;
    bool open = false;  // the input ended before a newline
  };
  // The next whole line. After the end, also the rest behind the last newline.
  [[nodiscard]] std::optional<Line> next();

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::optional<Line> rest_of_file();
  void skip_long_line();

  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the rest in buffer_
  bool skipping_ = false;  // in a line that is too long
  bool end_ = false;
  std::uint64_t lines_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace quipu::cli
