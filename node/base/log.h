// log.h: a node's log.
//
//   log.info("peer is up", {{"peer", "n2"}, {"boot", "7"}});
//
// A line is a level, a constant message, and fields that vary. The embedding program chooses
// the destination (NodeOptions::log); quipud's is stderr_log.h. NodeOptions::log gets the
// fields as logfmt: `peer=n2 reason="it was \"odd\""`.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quipu/log_level.h"

namespace quipu {

struct LogField {
  std::string_view key;  // a plain word
  std::string value;     // anything
};

// Quotes values that are not plain words, with \" \\ \n \r \t \xNN inside, so that a line stays
// one line for any text of a peer.
[[nodiscard]] std::string to_logfmt(std::span<const LogField> fields);
// The reverse, for JSON lines. Accepts the output of to_logfmt.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_logfmt(std::string_view text);

// Copies share the sink. Any thread that the sink allows.
class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view message, std::string_view fields)>;
  using Fields = std::initializer_list<LogField>;

  Log() = default;  // writes nothing
  explicit Log(Sink sink) : sink_(std::move(sink)) {}

  // The same sink; each line has this field first.
  [[nodiscard]] Log with(const LogField& field) const;

  void debug(std::string_view message, Fields fields = {}) const {
    write(LogLevel::debug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) const {
    write(LogLevel::info, message, fields);
  }
  void warning(std::string_view message, Fields fields = {}) const {
    write(LogLevel::warning, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const {
    write(LogLevel::error, message, fields);
  }

 private:
  void write(LogLevel level, std::string_view message, Fields fields) const {
    if (sink_) sink_(level, message, to_logfmt(fields));
  }

  Sink sink_;
};

}  // namespace quipu
