// script_pattern.h: the patterns of Lua 5.1's string library, with a bound on the work.
//
// A pattern such as "(.-)(.-)(.-)(.-)x" takes a time that grows with a power of the subject's
// length, within one instruction of the script. So Lua's own matcher has no bound that we could
// set. This one has its meaning, and counts its steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quipu {

class ScriptPattern {
 public:
  static constexpr std::size_t kNone = std::string_view::npos;
  static constexpr std::size_t kMaxCaptures = 32;

  // Both are borrowed. As in Lua 5.1, a pattern ends at its first zero byte. It may be so short
  // only that the recursion, one level for each of its items, is harmless.
  ScriptPattern(std::string_view subject, std::string_view pattern);

  [[nodiscard]] bool anchored() const { return anchored_; }
  // Matches at this place of the subject, which may be its end. kNone: it does not match there,
  // or there is an error(). Takes its steps from `fuel`.
  [[nodiscard]] std::size_t match(std::size_t at, std::size_t& fuel);
  // A pattern that begins with "^" as one that looks for this byte, as gmatch reads it.
  void take_literally();

  // Nothing, Lua's text, or kOutOfFuel.
  [[nodiscard]] const char* error() const { return error_; }
  static const char* const kOutOfFuel;

  // What the last match captured.
  struct Capture {
    enum class Kind : std::uint8_t { open, closed, position };
    Kind kind = Kind::open;
    std::size_t begin = 0, size = 0;
  };
  [[nodiscard]] std::size_t captures() const { return level_; }
  [[nodiscard]] const Capture& capture(std::size_t i) const { return captures_[i]; }

 private:
  [[nodiscard]] char pattern(std::size_t at) const {
    return at < pattern_.size() ? pattern_[at] : '\0';
  }
  std::size_t fail(const char* error);
  [[nodiscard]] bool spend();
  [[nodiscard]] std::size_t items(std::size_t at, std::size_t item);
  [[nodiscard]] std::size_t escaped(std::size_t at, std::size_t& item);
  [[nodiscard]] std::size_t repeated(std::size_t at, std::size_t item, std::size_t end);
  [[nodiscard]] std::size_t longest(std::size_t at, std::size_t item, std::size_t end);
  [[nodiscard]] std::size_t shortest(std::size_t at, std::size_t item, std::size_t end);
  [[nodiscard]] std::size_t open(std::size_t at, std::size_t item, Capture::Kind kind);
  [[nodiscard]] std::size_t close(std::size_t at, std::size_t item);
  [[nodiscard]] std::size_t balanced(std::size_t at, std::size_t item);
  [[nodiscard]] std::size_t frontier(std::size_t at, std::size_t& item);
  [[nodiscard]] std::size_t same_again(std::size_t at, char which);
  [[nodiscard]] std::size_t end_of(std::size_t item);
  [[nodiscard]] bool is_one(std::size_t at, std::size_t item, std::size_t end) const;
  [[nodiscard]] bool in_set(unsigned char byte, std::size_t item, std::size_t last) const;

  std::string_view subject_;
  std::string_view pattern_;
  bool anchored_ = false;
  const char* error_ = nullptr;
  std::size_t* fuel_ = nullptr;
  std::size_t level_ = 0;
  std::array<Capture, kMaxCaptures> captures_{};
};

}  // namespace quipu
