#include "protocol/resp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace quipu {
namespace {

constexpr std::string_view kEnd = "\r\n";
// An idle connection keeps no more memory: there may be ten thousand.
constexpr std::size_t kKeptWords = 256;
constexpr std::int64_t kMaxLength = kMaxRespRequest;
// A number, its type and its line's end.
constexpr std::size_t kMaxNumberLine = 32;

// "$14\r\n": a type, a number, the line's end.
struct NumberLine {
  std::size_t size;     // 0: its end has not arrived yet
  std::int64_t number;  // for invalid input; larger than all allowed numbers
};

NumberLine read_any_number(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxNumberLine).find(kEnd);
  if (end == bytes.npos) return {0, 0};
  const auto number = to_integer(bytes.substr(1, end - 1));
  return {end + kEnd.size(), number.value_or(std::numeric_limits<std::int64_t>::max())};
}

// The address of a byte that may be gone, so that no pointer is computed from it.
std::uintptr_t address(const char* byte) { return reinterpret_cast<std::uintptr_t>(byte); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The same. Nearly all numbers have one digit or two.
[[gnu::always_inline]] inline NumberLine read_number(std::string_view bytes) {
  if (bytes.size() >= 5) {
    const char* const at = bytes.data() + 1;
    if (is_digit(at[0]) && at[1] == '\r' && at[2] == '\n') return {4, at[0] - '0'};
    if (is_digit(at[0]) && at[0] != '0' && is_digit(at[1]) && at[2] == '\r' && at[3] == '\n')
      return {5, (at[0] - '0') * 10 + (at[1] - '0')};
  }
  return read_any_number(bytes);
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Cheaper than is_space() between words.
bool ends_word(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Within double quotes, behind a backslash: takes one escape from the line's front.
char unescape(std::string_view& line) {
  const char c = line.front();
  if (c == 'x' && line.size() > 2 && hex_digit(line[1]) >= 0 && hex_digit(line[2]) >= 0) {
    const auto byte = static_cast<char>(hex_digit(line[1]) * 16 + hex_digit(line[2]));
    line.remove_prefix(3);
    return byte;
  }
  line.remove_prefix(1);
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Takes quoted text from the line's front, which is behind the opening quote. False: the quote
// is not closed, or text follows its end directly.
bool unquote(std::string_view& line, char quote, char*& to) {
  while (!line.empty() && line.front() != quote) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c == '\\' && quote == '"' && !line.empty()) {
      *to++ = unescape(line);
    } else if (c == '\\' && quote == '\'' && line.starts_with('\'')) {
      *to++ = '\'';
      line.remove_prefix(1);
    } else {
      *to++ = c;
    }
  }
  if (line.empty()) return false;
  line.remove_prefix(1);
  return line.empty() || is_space(line.front());
}

// Takes one word, which may have quoted parts, from the line's front. The result is never
// longer than the input, so `to` may be in the line.
bool split_word(std::string_view& line, char*& to) {
  while (!line.empty() && !ends_word(line.front())) {
    const char c = line.front();
    line.remove_prefix(1);
    if (c == '"' || c == '\'') {
      if (!unquote(line, c, to)) return false;
    } else {
      *to++ = c;
    }
  }
  return true;
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view word) {
  if (word.size() == 1 && is_digit(word.front())) return word.front() - '0';
  constexpr std::size_t kMostDigits = 19;  // cannot overflow 64 bits
  const bool negative = word.starts_with('-');
  const std::string_view digits = word.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  if (digits.front() == '0') return std::nullopt;
  std::uint64_t magnitude = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<RespRequests::Words> RespRequests::next(ReadBuffer& in) {
  if (at_ == 0) forget_words();
  if (in.buffered() == 0) return std::nullopt;
  const std::string_view bytes = in.unread();
  if (at_ > 0) move_words(bytes.data());
  base_ = address(bytes.data());
  const bool array = at_ > 0 || bytes.front() == '*';
  const Read read = array ? read_array(bytes) : read_inline(in);
  if (read == Read::whole) {
    in.consume(std::exchange(at_, 0));
    return words_;
  }
  if (read == Read::too_long || (read == Read::incomplete && bytes.size() > kMaxRespRequest))
    refused_ = "a request has more than " + std::to_string(kMaxRespRequest) + " bytes";
  return std::nullopt;
}

inline void RespRequests::forget_words() {
  words_.clear();
  if (words_.capacity() > kKeptWords) words_ = std::vector<std::string_view>();
}

// In case the buffer has moved, and they are in it.
void RespRequests::move_words(const char* to) {
  if (address(to) == base_) return;
  for (std::string_view& word : words_) word = {to + (address(word.data()) - base_), word.size()};
}

RespRequests::Read RespRequests::refuse(std::string_view why) {
  refused_ = why;
  return Read::refused;
}

RespRequests::Read RespRequests::refuse_type(char type) {
  return refuse(std::string("expected '$', got '") + type + "'");
}

inline RespRequests::Read RespRequests::read_count(std::string_view bytes) {
  const auto [size, number] = read_number(bytes);
  if (size == 0) {
    if (bytes.size() >= kMaxNumberLine) return refuse("too big mbulk count string");
    return Read::incomplete;
  }
  if (number > static_cast<std::int64_t>(most_words_))
    return refuse(most_words_ < kMaxWords ? "unauthenticated multibulk length"
                                          : "invalid multibulk length");
  missing_ = static_cast<std::size_t>(std::max<std::int64_t>(number, 0));
  at_ = size;
  return Read::whole;
}

inline RespRequests::Read RespRequests::read_length(std::string_view rest) {
  if (rest.empty()) return Read::incomplete;
  if (rest.front() != '$') return refuse_type(rest.front());
  const auto [size, number] = read_number(rest);
  if (size == 0) {
    if (rest.size() >= kMaxNumberLine) return refuse("too big bulk count string");
    return Read::incomplete;
  }
  if (number < 0 || number > kMaxLength) return refuse("invalid bulk length");
  length_ = static_cast<std::size_t>(number);
  at_ += size;
  return Read::whole;
}

inline RespRequests::Read RespRequests::read_word(std::string_view bytes) {
  if (length_ == kNoLength) {
    const Read read = read_length({bytes.data() + at_, bytes.size() - at_});
    if (read != Read::whole) return read;
  }
  const std::size_t end = at_ + length_ + kEnd.size();
  if (end > kMaxRespRequest) return Read::too_long;
  if (bytes.size() < end) return Read::incomplete;
  words_.emplace_back(bytes.data() + at_, length_);
  at_ = end;
  length_ = kNoLength;
  return Read::whole;
}

RespRequests::Read RespRequests::read_array(std::string_view bytes) {
  if (at_ == 0) {
    if (const Read counted = read_count(bytes); counted != Read::whole) return counted;
  }
  while (missing_ > 0) {
    if (const Read read = read_word(bytes); read != Read::whole) return read;
    --missing_;
  }
  return Read::whole;
}

RespRequests::Read RespRequests::read_inline(ReadBuffer& in) {
  const std::string_view bytes = in.unread();
  const std::size_t end = bytes.find('\n');
  if (end > kMaxRespInline && bytes.size() > kMaxRespInline)
    return refuse("too big inline request");
  if (end == bytes.npos) return Read::incomplete;
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  char* to = in.unread_bytes();
  for (;;) {
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    if (line.empty()) break;
    const char* const begin = to;
    if (!split_word(line, to)) return refuse("unbalanced quotes in request");
    words_.emplace_back(begin, static_cast<std::size_t>(to - begin));
    if (words_.size() > most_words_) return refuse("too many words in an inline request");
  }
  at_ = end + 1;
  return Read::whole;
}

void RespWriter::head(char type, std::int64_t number) {
  std::array<char, kMaxNumberLine> line;
  line[0] = type;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out_.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

void RespWriter::simple(std::string_view text) { out_.append("+").append(text).append(kEnd); }

void RespWriter::error(std::string_view text) {
  out_.push_back('-');
  const std::size_t begin = out_.size();
  out_.append(text);
  std::replace_if(
      out_.begin() + static_cast<std::ptrdiff_t>(begin), out_.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out_.append(kEnd);
}

void RespWriter::integer(std::int64_t number) { head(':', number); }

void RespWriter::bulk(std::string_view bytes) {
  head('$', static_cast<std::int64_t>(bytes.size()));
  out_.append(bytes).append(kEnd);
}

void RespWriter::bulk(std::int64_t number) {
  constexpr std::size_t kHead = 5;  // "$20\r\n"
  std::array<char, kHead + kMaxNumberLine> line;
  char* const digits = line.data() + kHead;
  char* end = std::to_chars(digits, line.data() + line.size(), number).ptr;
  const auto size = static_cast<std::size_t>(end - digits);
  char* begin = digits;
  *--begin = '\n';
  *--begin = '\r';
  *--begin = static_cast<char>('0' + size % 10);
  if (size >= 10) *--begin = static_cast<char>('0' + size / 10);
  *--begin = '$';
  *end++ = '\r';
  *end++ = '\n';
  out_.append(begin, static_cast<std::size_t>(end - begin));
}

void RespWriter::verbatim(std::string_view text) {
  if (version_ == Version::resp2) return bulk(text);
  head('=', static_cast<std::int64_t>(text.size() + 4));
  out_.append("txt:").append(text).append(kEnd);
}

void RespWriter::boolean(bool value) {
  if (version_ == Version::resp2) return integer(value ? 1 : 0);
  out_.append(value ? "#t\r\n" : "#f\r\n");
}

void RespWriter::null() { out_.append(version_ == Version::resp2 ? "$-1\r\n" : "_\r\n"); }

void RespWriter::array(std::size_t items) { head('*', static_cast<std::int64_t>(items)); }

void RespWriter::set(std::size_t items) {
  head(version_ == Version::resp2 ? '*' : '~', static_cast<std::int64_t>(items));
}

void RespWriter::map(std::size_t pairs) {
  const auto count = static_cast<std::int64_t>(pairs);
  version_ == Version::resp2 ? head('*', 2 * count) : head('%', count);
}

}  // namespace quipu
