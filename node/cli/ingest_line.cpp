#include "node/cli/ingest_line.h"

#include <charconv>

#include "protocol/ids.h"

namespace quipu::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

// Takes the first word from `text`.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

bool parse_amount(std::string_view text, std::int64_t& amount) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  return error == std::errc() && end == text.data() + text.size();
}

std::variant<IngestLine, BlankLine, BadLine> parse_ingest_line(std::string_view text) {
  IngestLine line{.key = take_word(text)};
  if (line.key.empty()) return BlankLine{};
  if (line.key.size() > kMaxKey) return BadLine{"the key is longer than 512 bytes"};
  const std::string_view amount = take_word(text);
  if (!amount.empty() && !parse_amount(amount, line.amount)) {
    return BadLine{"the amount is not a whole number that fits 64 bits"};
  }
  if (!take_word(text).empty()) return BadLine{"more than a key and an amount"};
  return line;
}

std::variant<std::string_view, BlankLine, BadLine> parse_element_line(std::string_view text,
                                                                      std::size_t most) {
  if (text.find_first_not_of(kBlanks) == std::string_view::npos) return BlankLine{};
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() <= most) return text;
  return BadLine{"an element of this kind has at most 128 bytes"};
}

}  // namespace quipu::cli
