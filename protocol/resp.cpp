#include "protocol/resp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace quipu {
namespace {

constexpr std::string_view kEnd = "\r\n";
// An idle connection keeps no room for more: there may be ten thousand.
constexpr std::size_t kKeptWords = 256;
// "$0\r\n\r\n": no word of an array takes less.
constexpr std::size_t kShortestWord = 6;
// A number, its type and its line's end.
constexpr std::size_t kMaxNumberLine = 32;

Status refused(std::string why) { return {Code::protocol_error, std::move(why)}; }

Status too_long() {
  return refused("a request has more than " + std::to_string(kMaxRespRequest) + " bytes");
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Fewer than is_space() takes between words.
bool ends_word(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Within double quotes, behind a backslash: takes one escape off the line's front.
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

// Takes what is in quotes off the line's front, which is behind the opening one. False:
// they do not end, or something stands right behind their end.
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

// Takes one word, which may have quoted parts, off the line's front. What is written is
// never longer than what was taken, so that `to` may be in the line.
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
  std::int64_t number = 0;
  const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || stopped != word.data() + word.size()) return std::nullopt;
  const std::size_t sign = word.starts_with('-') ? 1 : 0;
  if (word[sign] == '0' && word.size() > 1) return std::nullopt;
  return number;
}

Result<std::optional<RespRequests::Words>> RespRequests::next(ReadBuffer& in) {
  const std::optional<Words> incomplete;
  if (words_.capacity() > kKeptWords) words_ = std::vector<std::string_view>();
  if (in.buffered() == 0) return incomplete;
  const std::string_view bytes = in.unread();
  const bool array = at_ > 0 || bytes.front() == '*';
  const Result<bool> whole = array ? read_array(bytes) : read_inline(in);
  if (!whole.ok()) return whole.status();
  if (*whole) return std::optional<Words>(take(in));
  if (bytes.size() > kMaxRespRequest) return too_long();
  return incomplete;
}

RespRequests::Words RespRequests::take(ReadBuffer& in) {
  const std::string_view bytes = in.unread();
  words_.clear();
  for (const Range& range : ranges_) words_.push_back(bytes.substr(range.begin, range.size));
  ranges_.clear();
  if (ranges_.capacity() > kKeptWords) ranges_ = std::vector<Range>();
  in.consume(std::exchange(at_, 0));
  return words_;
}

Result<bool> RespRequests::read_array(std::string_view bytes) {
  if (at_ == 0) {
    const Result<bool> counted = read_count(bytes);
    if (!counted.ok() || !*counted) return counted;
  }
  while (missing_ > 0) {
    const Result<bool> read = read_word(bytes);
    if (!read.ok() || !*read) return read;
  }
  return true;
}

Result<bool> RespRequests::read_count(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxNumberLine).find(kEnd);
  if (end == bytes.npos) {
    if (bytes.size() >= kMaxNumberLine) return refused("too big mbulk count string");
    return false;
  }
  const auto count = to_integer(bytes.substr(1, end - 1));
  if (!count || *count > static_cast<std::int64_t>(kMaxRespRequest / kShortestWord))
    return refused("invalid multibulk length");
  missing_ = static_cast<std::size_t>(std::max<std::int64_t>(*count, 0));
  at_ = end + kEnd.size();
  return true;
}

Result<bool> RespRequests::read_word(std::string_view bytes) {
  if (!length_) {
    const std::string_view rest = bytes.substr(at_);
    if (rest.empty()) return false;
    if (rest.front() != '$')
      return refused(std::string("expected '$', got '") + rest.front() + "'");
    const std::size_t end = rest.substr(0, kMaxNumberLine).find(kEnd);
    if (end == rest.npos) {
      if (rest.size() >= kMaxNumberLine) return refused("too big bulk count string");
      return false;
    }
    const auto length = to_integer(rest.substr(1, end - 1));
    if (!length || *length < 0 || *length > static_cast<std::int64_t>(kMaxRespRequest))
      return refused("invalid bulk length");
    length_ = static_cast<std::size_t>(*length);
    at_ += end + kEnd.size();
  }
  const std::size_t end = at_ + *length_ + kEnd.size();
  if (end > kMaxRespRequest) return too_long();
  if (bytes.size() < end) return false;
  ranges_.push_back({at_, *length_});
  at_ = end;
  length_.reset();
  --missing_;
  return true;
}

Result<bool> RespRequests::read_inline(ReadBuffer& in) {
  const std::string_view bytes = in.unread();
  const std::size_t end = bytes.find('\n');
  if (end > kMaxRespInline && bytes.size() > kMaxRespInline)
    return refused("too big inline request");
  if (end == bytes.npos) return false;
  std::string_view line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  char* to = in.unread_bytes();
  for (;;) {
    while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    if (line.empty()) break;
    const char* const begin = to;
    if (!split_word(line, to)) return refused("unbalanced quotes in request");
    ranges_.push_back(
        {static_cast<std::size_t>(begin - bytes.data()), static_cast<std::size_t>(to - begin)});
  }
  at_ = end + 1;
  return true;
}

void RespWriter::head(char type, std::int64_t number) {
  std::array<char, kMaxNumberLine> line;
  line[0] = type;
  char* end = std::to_chars(line.data() + 1, line.data() + line.size(), number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out_.append(line.data(), end);
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
  std::array<char, kMaxNumberLine> text;
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  bulk(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
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

void RespWriter::null_array() { out_.append(version_ == Version::resp2 ? "*-1\r\n" : "_\r\n"); }

void RespWriter::array(std::size_t items) { head('*', static_cast<std::int64_t>(items)); }

void RespWriter::set(std::size_t items) {
  head(version_ == Version::resp2 ? '*' : '~', static_cast<std::int64_t>(items));
}

void RespWriter::map(std::size_t pairs) {
  const auto count = static_cast<std::int64_t>(pairs);
  version_ == Version::resp2 ? head('*', 2 * count) : head('%', count);
}

}  // namespace quipu
