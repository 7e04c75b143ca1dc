// ingest_line.h: "KEY [N]", one line of input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace quipu::cli {

struct IngestLine {
  std::string_view key;
  std::int64_t amount = 1;
};
struct BlankLine {};
struct BadLine {
  std::string_view why;
};

// Blanks (spaces, tabs, a carriage return) are ignored around and between the words.
[[nodiscard]] std::variant<IngestLine, BlankLine, BadLine> parse_ingest_line(std::string_view text);

// A whole number in int64, with or without a sign. False: it is not one.
[[nodiscard]] bool parse_amount(std::string_view text, std::int64_t& amount);

}  // namespace quipu::cli
