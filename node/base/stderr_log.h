// stderr_log.h: a Log::Sink that writes lines to stderr, for quipud.
//
//   logfmt  time=2024-05-01T12:00:00.123Z level=info msg="peer is up" peer=n2
//   json    {"time":"2024-05-01T12:00:00.123Z","level":"info","msg":"peer is up","peer":"n2"}
//
// Times are UTC. Each line stays one line with any fields. Bytes that are not UTF-8 become
// U+FFFD in JSON. Any thread. No call waits for stderr: lines that it does not accept in time
// are dropped, and a line says how many (line_writer.h).
#pragma once

#include <atomic>
#include <memory>

#include "node/base/line_writer.h"
#include "node/base/log.h"

namespace quipu {

enum class LogFormat : std::uint8_t { logfmt, json };

class StderrLog {
 public:
  StderrLog(LogFormat format, LogLevel least);

  // Copies and sinks take it over, too.
  void set_least(LogLevel least) const { *least_ = least; }

  void write(LogLevel level, std::string_view message, std::string_view fields) const;
  // For people: writes `text` unchanged, at any level. It ends with '\n'.
  void say(std::string text) const { lines_->put(std::move(text)); }
  // Shares the writer, and so may outlive this object.
  [[nodiscard]] Log::Sink sink() const;

 private:
  class Formatter;

  std::shared_ptr<std::atomic<LogLevel>> least_;
  std::shared_ptr<Formatter> formatter_;
  std::shared_ptr<LineWriter> lines_;
};

// The content of a line between time and level and its end.
[[nodiscard]] std::string format_line(LogFormat format, std::string_view message,
                                      std::string_view fields);

}  // namespace quipu
