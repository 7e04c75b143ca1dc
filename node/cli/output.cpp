#include "node/cli/output.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace quipu::cli {
namespace {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      return "applied";
    case Outcome::not_applied:
      return "not_applied";
    case Outcome::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

void complain(const std::string& text) { std::cerr << "quipu: " + text + "\n"; }

void print(const std::string& text) { std::cout << text + "\n"; }

void print_json(const nlohmann::json& value) {
  print(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && c != '\\') {
      text += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", unsigned{byte});
      text += escaped;
    }
  }
  return text;
}

nlohmann::json to_json(const Status& status) {
  const CodeInfo& info = describe(status.code());
  nlohmann::json json{{"outcome", name(info.outcome)}, {"code", info.name}};
  if (!status.detail().empty()) json["detail"] = status.detail();
  if (!info.advice.empty()) json["advice"] = info.advice;
  return json;
}

std::string for_people(std::optional<std::chrono::milliseconds> duration) {
  using namespace std::chrono_literals;
  if (!duration) return "unknown";
  if (*duration < 1s) return std::to_string(duration->count()) + " ms";
  if (*duration >= 2min)
    return std::to_string(std::chrono::round<std::chrono::minutes>(*duration).count()) + " min";
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << std::chrono::duration<double>(*duration).count()
       << " s";
  return text.str();
}

std::string for_people(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

void Table::print() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    cli::print(line);
  }
}

}  // namespace quipu::cli
