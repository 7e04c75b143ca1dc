// stderr_log.h: a Log::Sink that writes lines to stderr, for quipud.
//
//   logfmt  time=2024-05-01T12:00:00.123Z level=info msg="peer is up" peer=n2
//   json    {"time":"2024-05-01T12:00:00.123Z","level":"info","msg":"peer is up","peer":"n2"}
//
// Times are UTC. Each line stays one line with any fields. Bytes that are not UTF-8 become
// U+FFFD in JSON. Any thread. No call waits for stderr: lines that it does not accept in time
// are dropped, and a line says how many (line_writer.h).
//
// Under systemd's journal each line begins with its priority (sd-daemon(3)): "<6>time=…".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "node/base/line_writer.h"
#include "node/base/log.h"

namespace quipu {

enum class LogFormat : std::uint8_t { logfmt, json };

enum class LogReader : std::uint8_t { people, journal };

// Tells who reads what is written to `descriptor`. `journal_stream`: the variable $JOURNAL_STREAM,
// with the device and the inode of the stream that the journal reads, as in "8:1234".
[[nodiscard]] LogReader reader_of(int descriptor, const std::optional<std::string>& journal_stream);

class StderrLog {
 public:
  StderrLog(LogFormat format, LogLevel least, LogReader reader = LogReader::people);

  // Copies and sinks take it over, too.
  void set_least(LogLevel least) const { shared_->least = least; }

  void write(LogLevel level, std::string_view message, std::string_view fields) const;
  // For people: writes `text` unchanged, at any level. It ends with '\n'.
  void say(std::string text) const { lines_->put(std::move(text)); }
  // The same, as an error for the journal.
  void complain(const std::string& text) const;
  // How many lines of that level were written, or dropped because stderr was blocked.
  [[nodiscard]] std::uint64_t lines(LogLevel level) const {
    return shared_->lines[static_cast<std::size_t>(level)];
  }
  // Shares the writer, and so may outlive this object.
  [[nodiscard]] Log::Sink sink() const;

 private:
  class Formatter;

  struct Shared {
    std::atomic<LogLevel> least;
    std::array<std::atomic<std::uint64_t>, 4> lines{};  // by level
  };

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Formatter> formatter_;
  std::shared_ptr<LineWriter> lines_;
};

// The content of a line between time and level and its end.
[[nodiscard]] std::string format_line(LogFormat format, std::string_view message,
                                      std::string_view fields);

}  // namespace quipu
