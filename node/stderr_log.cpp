#include "node/stderr_log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
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

std::string pattern(LogFormat format) {
  // %l says "warning" and "error", as LogLevel does.
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

StderrLog::StderrLog(LogFormat format, LogLevel least)
    : format_(format),
      logger_(std::make_shared<spdlog::logger>("quipu",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern(format), spdlog::pattern_time_type::utc));
  logger_->set_level(to_spdlog(least));
}

void StderrLog::write(LogLevel level, std::string_view message, std::string_view fields) const {
  const spdlog::level::level_enum at = to_spdlog(level);
  if (logger_->should_log(at)) logger_->log(at, format_line(format_, message, fields));
}

Log::Sink StderrLog::sink() const {
  return [log = *this](LogLevel level, std::string_view message, std::string_view fields) {
    log.write(level, message, fields);
  };
}

}  // namespace quipu
