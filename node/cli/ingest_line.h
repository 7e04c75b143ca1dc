// ingest_line.h: one line of input: "KEY [N]", or an element.
#pragma once

#include <cstdint>
#include <optional>
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

// With --kind. The element is the line, without a carriage return at its end. A line of nothing but
// blanks is none. `most`: how many bytes an element may have.
[[nodiscard]] std::variant<std::string_view, BlankLine, BadLine> parse_element_line(
    std::string_view text, std::size_t most);

// A whole number in int64, with or without a sign. False: it is not one.
[[nodiscard]] bool parse_amount(std::string_view text, std::int64_t& amount);

}  // namespace quipu::cli
