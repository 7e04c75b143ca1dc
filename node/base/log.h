// log.h: what a node says while it runs.
//
//   log.info("peer is up", {{"peer", "n2"}, {"boot", "7"}});
//
// A line is a level, a message that never varies, and fields that do. Where it
// goes is the embedder's business (NodeOptions::log); quipud's is stderr_log.h.
// Fields cross that border as logfmt: `peer=n2 reason="it was \"odd\""`.
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

// Values that are not plain words are quoted, with \" \\ \n \r \t \xNN inside, so
// that a line stays one line whatever a peer says.
[[nodiscard]] std::string to_logfmt(std::span<const LogField> fields);
// The other way, for lines that are to be JSON. Takes what to_logfmt makes.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_logfmt(std::string_view text);

// Copies share the sink; any thread that the sink can bear.
class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view message, std::string_view fields)>;
  using Fields = std::initializer_list<LogField>;

  Log() = default;  // says nothing
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
