// check.h: preconditions and invariants that check themselves, in release builds too.
//
//   QUIPU_CHECK(commit == next(sealed_), "commits are dense", commit, sealed_);
//
//   check failed: commit == next(sealed_)
//     commits are dense
//     commit = 9, sealed_ = 7
//     storage/executor.cpp:331, in seal
//
// A failed check is a bug of ours, and ends the process before the bug can spread: wrong
// counts are worse than a node that is down. Bytes from a peer, a disk or a user get an
// error, never a check. The second argument explains the violation to a reader who does not
// know the code. The others are printed.
//
// A check costs a compare and a branch that is never taken. A check that would cost more
// than the code it guards belongs in a test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace quipu {

// A value to be printed: a number, an enum by its number, or a text.
class CheckValue {
 public:
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
      CheckValue(T value) {  // NOLINT(google-explicit-constructor): for the macro
    if constexpr (std::is_enum_v<T>) {
      *this = CheckValue(static_cast<std::underlying_type_t<T>>(value));
    } else if constexpr (std::is_signed_v<T>) {
      number_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
      kind_ = Kind::negative_too;
    } else {
      number_ = value;
    }
  }
  CheckValue(std::string_view text) : kind_(Kind::text), text_(text) {}
  CheckValue(const std::string& text) : CheckValue(std::string_view(text)) {}
  [[nodiscard]] std::string text() const;

 private:
  enum class Kind : std::uint8_t { number, negative_too, text };
  Kind kind_ = Kind::number;
  std::uint64_t number_ = 0;
  std::string_view text_;
};

struct FailedCheck {
  const char* condition;
  const char* meaning;
  const char* values;  // their names, as written in the call
  const char* file;
  int line;
  const char* function;
};

// Prints the failure and aborts (or throws: see ChecksThrow).
[[noreturn]] void fail_check(const FailedCheck& check, std::initializer_list<CheckValue> values);
// The text that it prints.
[[nodiscard]] std::string describe(const FailedCheck& check,
                                   std::initializer_list<CheckValue> values);

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// While one lives, a check that fails on this thread throws CheckFailure instead of ending
// the process. For the simulator, which reports the seed and goes on with the next one. The
// object that failed must not be used any more.
class ChecksThrow {
 public:
  ChecksThrow();
  ~ChecksThrow();
  ChecksThrow(const ChecksThrow&) = delete;
  ChecksThrow& operator=(const ChecksThrow&) = delete;

 private:
  bool before_;
};

}  // namespace quipu

#define QUIPU_CHECK(condition, meaning, ...)                                                    \
  (__builtin_expect(static_cast<bool>(condition), 1)                                            \
       ? static_cast<void>(0)                                                                   \
       : ::quipu::fail_check({#condition, meaning, #__VA_ARGS__, __FILE__, __LINE__, __func__}, \
                             {__VA_ARGS__}))
