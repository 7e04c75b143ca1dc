// status.h: the result of every call of Quipu that can fail.
//
// A caller must first learn whether the change *happened*. The reason comes second. So every code
// belongs to exactly one outcome, and says what to do next.
//
//   applied       it happened, at the requested level
//   not_applied   it certainly did not happen, now or later: safe to do again
//   unknown       it may have happened: only a retry with the same token is safe
//
// A code exists only if callers act differently on it. Wire numbers are never reused.
//
// Threads: Status and Result are plain values. Several threads may read one of them at once;
// none may change or destroy it meanwhile. describe() may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quipu/export.h"

namespace quipu {

// Ascending: the greatest outcome of several parts is the outcome of the whole.
enum class Outcome : std::uint8_t { applied = 0, not_applied = 1, unknown = 2 };

enum class Code : std::uint16_t {
  ok = 0,
  invalid_argument = 1,
  out_of_range = 2,
  no_quorum = 3,
  in_doubt = 4,
  token_reused = 5,
  token_expired = 6,
  executor_gone = 7,
  session_window = 8,
  overloaded = 9,
  unavailable = 10,
  storage_full = 11,
  storage_failed = 12,
  stale_config = 13,
  would_deadlock = 14,
  protocol_error = 15,
  cannot_start = 16,
  corrupt = 17,
  undefined_namespace = 18,
  wrong_type = 19,
  unauthenticated = 20,
  not_permitted = 21,
};

// One row of the error list. `advice` says what to do next.
struct CodeInfo {
  Code code = Code::ok;
  std::string_view name{};  // as on the command line and in JSON
  Outcome outcome = Outcome::applied;
  std::string_view advice{};
};

// The row of `code`. A number that this build does not know gets a row named "unknown_code", with
// the outcome unknown, since the change may have happened. Thread-safe.
QUIPU_EXPORT [[nodiscard]] const CodeInfo& describe(Code code);

// A value type, cheap to move. An ok Status allocates nothing. Thread-safe to read, as any value.
class [[nodiscard]] QUIPU_EXPORT Status {
 public:
  Status() = default;
  Status(Code code, std::string detail) : code_(code), detail_(std::move(detail)) {}

  [[nodiscard]] bool ok() const { return code_ == Code::ok; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] Outcome outcome() const { return describe(code_).outcome; }
  // What happened here, without the advice; may be empty.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  // One line for a person: "storage_full: no space left on /data (…advice…)".
  [[nodiscard]] std::string message() const;

 private:
  Code code_ = Code::ok;
  std::string detail_;
};

// Either a value or a Status that is not ok. It owns the value. Thread-safe to read, as any value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}
  Result(Code code, std::string detail) : status_(code, std::move(detail)) {}

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  // REQUIRES: ok()
  [[nodiscard]] T& value() { return value_.value(); }
  [[nodiscard]] const T& value() const { return value_.value(); }
  T* operator->() { return &value_.value(); }
  const T* operator->() const { return &value_.value(); }
  T& operator*() { return value_.value(); }
  const T& operator*() const { return value_.value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace quipu
