#include "node/base/stderr_log.h"

#include <spdlog/pattern_formatter.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <nlohmann/json.hpp>

namespace quipu {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// As syslog(3) numbers them.
std::string_view priority(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "<7>";
    case LogLevel::info:
      return "<6>";
    case LogLevel::warning:
      return "<4>";
    case LogLevel::error:
      return "<3>";
  }
  return "<3>";
}

std::string pattern(LogFormat format) {
  // %l prints "warning" and "error", like LogLevel.
  if (format == LogFormat::logfmt) return "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v";
  return R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v)";
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string format_line(LogFormat format, std::string_view message, std::string_view fields) {
  if (format == LogFormat::logfmt) {
    const std::array first{LogField{"msg", std::string(message)}};
    std::string line = to_logfmt(first);
    if (!fields.empty()) line.append(" ").append(fields);
    return line;
  }
  std::string line = "\"msg\":" + json_text(std::string(message));
  for (const auto& [key, value] : parse_logfmt(fields)) {
    line.append(",").append(json_text(key)).append(":").append(json_text(value));
  }
  return line + '}';
}

// Makes whole lines. Any thread.
class StderrLog::Formatter {
 public:
  Formatter(LogFormat format, LogReader reader)
      : format_(format),
        reader_(reader),
        pattern_(pattern(format), spdlog::pattern_time_type::utc) {}

  std::string line(LogLevel level, std::string_view message, std::string_view fields) {
    const std::string text = format_line(format_, message, fields);
    spdlog::memory_buf_t buffer;
    if (reader_ == LogReader::journal) buffer.append(priority(level));
    const std::lock_guard lock(mutex_);
    pattern_.format({spdlog::string_view_t(), to_spdlog(level), text}, buffer);
    return {buffer.data(), buffer.size()};
  }
  [[nodiscard]] std::string error(const std::string& text) const {
    return (reader_ == LogReader::journal ? "<3>" : "") + text;
  }

 private:
  const LogFormat format_;
  const LogReader reader_;
  std::mutex mutex_;
  spdlog::pattern_formatter pattern_;  // remembers the last second as text
};

LogReader reader_of(int descriptor, const std::optional<std::string>& journal_stream) {
  struct stat file {};
  if (!journal_stream || ::fstat(descriptor, &file) != 0) return LogReader::people;
  const std::string own = std::to_string(file.st_dev) + ':' + std::to_string(file.st_ino);
  return *journal_stream == own ? LogReader::journal : LogReader::people;
}

StderrLog::StderrLog(LogFormat format, LogLevel least, LogReader reader)
    : shared_(new Shared{.least = least}),
      formatter_(std::make_shared<Formatter>(format, reader)),
      lines_(std::make_shared<LineWriter>(
          STDERR_FILENO, [formatter = formatter_](std::uint64_t dropped) {
            const std::array fields{LogField{"lines", std::to_string(dropped)}};
            return formatter->line(LogLevel::warning, "log lines were dropped: stderr was blocked",
                                   to_logfmt(fields));
          })) {}

void StderrLog::write(LogLevel level, std::string_view message, std::string_view fields) const {
  if (level < shared_->least) return;
  ++shared_->lines[static_cast<std::size_t>(level)];
  lines_->put(formatter_->line(level, message, fields));
}

void StderrLog::complain(const std::string& text) const { lines_->put(formatter_->error(text)); }

Log::Sink StderrLog::sink() const {
  return [log = *this](LogLevel level, std::string_view message, std::string_view fields) {
    log.write(level, message, fields);
  };
}

}  // namespace quipu
