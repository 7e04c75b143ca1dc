#include "node/clients/resp/script_pattern.h"

#include <algorithm>
#include <cctype>

namespace quipu {
namespace {

bool in_class(unsigned char byte, char class_letter) {
  const auto letter = static_cast<unsigned char>(class_letter);
  bool inside = false;
  switch (std::tolower(letter)) {
    case 'a':
      inside = std::isalpha(byte) != 0;
      break;
    case 'c':
      inside = std::iscntrl(byte) != 0;
      break;
    case 'd':
      inside = std::isdigit(byte) != 0;
      break;
    case 'l':
      inside = std::islower(byte) != 0;
      break;
    case 'p':
      inside = std::ispunct(byte) != 0;
      break;
    case 's':
      inside = std::isspace(byte) != 0;
      break;
    case 'u':
      inside = std::isupper(byte) != 0;
      break;
    case 'w':
      inside = std::isalnum(byte) != 0;
      break;
    case 'x':
      inside = std::isxdigit(byte) != 0;
      break;
    case 'z':
      inside = byte == 0;
      break;
    default:
      return letter == byte;
  }
  return (std::islower(letter) != 0) == inside;
}

}  // namespace

const char* const ScriptPattern::kOutOfFuel = "out of fuel";

ScriptPattern::ScriptPattern(std::string_view subject, std::string_view pattern)
    : subject_(subject), pattern_(pattern.substr(0, pattern.find('\0'))) {
  anchored_ = !pattern_.empty() && pattern_.front() == '^';
}

void ScriptPattern::take_literally() { anchored_ = false; }

std::size_t ScriptPattern::match(std::size_t at, std::size_t& fuel) {
  level_ = 0;
  fuel_ = &fuel;
  return items(at, anchored_ ? 1 : 0);
}

std::size_t ScriptPattern::fail(const char* error) {
  if (error_ == nullptr) error_ = error;
  return kNone;
}

bool ScriptPattern::spend() {
  if (error_ != nullptr) return false;
  if (*fuel_ == 0) {
    fail(kOutOfFuel);
    return false;
  }
  --*fuel_;
  return true;
}

// The rest of the pattern, from `item`.
std::size_t ScriptPattern::items(std::size_t at, std::size_t item) {
  while (spend()) {
    switch (pattern(item)) {
      case '\0':
        return at;
      case '(':
        return pattern(item + 1) == ')' ? open(at, item + 2, Capture::Kind::position)
                                        : open(at, item + 1, Capture::Kind::open);
      case ')':
        return close(at, item + 1);
      case '$':
        if (pattern(item + 1) == '\0') return at == subject_.size() ? at : kNone;
        break;
      case '%': {
        const std::size_t before = item;
        at = escaped(at, item);
        if (at == kNone) return kNone;
        if (item != before) continue;
        break;
      }
      default:
        break;
    }
    const std::size_t end = end_of(item);
    if (end == kNone) return kNone;
    const char after = pattern(end);
    if (after == '?' || after == '*' || after == '+' || after == '-')
      return repeated(at, item, end);
    if (!is_one(at, item, end)) return kNone;
    ++at;
    item = end;
  }
  return kNone;
}

// %b, %f and %1. Leaves `item` where it is if it is a class or a byte.
std::size_t ScriptPattern::escaped(std::size_t at, std::size_t& item) {
  const char letter = pattern(item + 1);
  if (letter == 'b') {
    at = balanced(at, item + 2);
    item += 4;
  } else if (letter == 'f') {
    item += 2;
    at = frontier(at, item);
  } else if (letter >= '0' && letter <= '9') {
    at = same_again(at, letter);
    item += 2;
  }
  return at;
}

std::size_t ScriptPattern::repeated(std::size_t at, std::size_t item, std::size_t end) {
  switch (pattern(end)) {
    case '*':
      return longest(at, item, end);
    case '+':
      return is_one(at, item, end) ? longest(at + 1, item, end) : kNone;
    case '-':
      return shortest(at, item, end);
    default:  // ?
      if (is_one(at, item, end)) {
        const std::size_t matched = items(at + 1, end + 1);
        if (matched != kNone) return matched;
      }
      return items(at, end + 1);
  }
}

std::size_t ScriptPattern::longest(std::size_t at, std::size_t item, std::size_t end) {
  std::size_t times = 0;
  while (is_one(at + times, item, end)) {
    if (!spend()) return kNone;
    ++times;
  }
  for (;; --times) {
    const std::size_t matched = items(at + times, end + 1);
    if (matched != kNone || times == 0 || error_ != nullptr) return matched;
  }
}

std::size_t ScriptPattern::shortest(std::size_t at, std::size_t item, std::size_t end) {
  for (;; ++at) {
    const std::size_t matched = items(at, end + 1);
    if (matched != kNone || error_ != nullptr || !is_one(at, item, end)) return matched;
  }
}

std::size_t ScriptPattern::open(std::size_t at, std::size_t item, Capture::Kind kind) {
  if (level_ == kMaxCaptures) return fail("too many captures");
  captures_[level_++] = {.kind = kind, .begin = at};
  const std::size_t matched = items(at, item);
  if (matched == kNone) --level_;
  return matched;
}

std::size_t ScriptPattern::close(std::size_t at, std::size_t item) {
  std::size_t i = level_;
  while (i > 0 && captures_[i - 1].kind != Capture::Kind::open) --i;
  if (i == 0) return fail("invalid pattern capture");
  Capture& capture = captures_[i - 1];
  capture.kind = Capture::Kind::closed;
  capture.size = at - capture.begin;
  const std::size_t matched = items(at, item);
  if (matched == kNone) capture.kind = Capture::Kind::open;
  return matched;
}

std::size_t ScriptPattern::balanced(std::size_t at, std::size_t item) {
  const char first = pattern(item), last = pattern(item + 1);
  if (first == '\0' || last == '\0') return fail("unbalanced pattern");
  if (at >= subject_.size() || subject_[at] != first) return kNone;
  std::size_t deep = 1;
  while (++at < subject_.size() && spend()) {
    if (subject_[at] == last) {
      if (--deep == 0) return at + 1;
    } else if (subject_[at] == first) {
      ++deep;
    }
  }
  return kNone;
}

std::size_t ScriptPattern::frontier(std::size_t at, std::size_t& item) {
  if (pattern(item) != '[') return fail("missing '[' after '%f' in pattern");
  const std::size_t end = end_of(item);
  if (end == kNone) return kNone;
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned char>(i < subject_.size() ? subject_[i] : 0);
  };
  const unsigned char before = at == 0 ? byte(subject_.size()) : byte(at - 1);
  const bool here = !in_set(before, item, end - 1) && in_set(byte(at), item, end - 1);
  item = end;
  return here ? at : kNone;
}

std::size_t ScriptPattern::same_again(std::size_t at, char which) {
  const auto i = static_cast<std::size_t>(which - '1');  // '0' wraps around
  if (i >= level_ || captures_[i].kind == Capture::Kind::open) return fail("invalid capture index");
  // As in Lua, a position matches nothing here.
  if (captures_[i].kind == Capture::Kind::position) return kNone;
  const std::string_view text = subject_.substr(captures_[i].begin, captures_[i].size);
  *fuel_ -= std::min(*fuel_, text.size() / 16);
  return subject_.substr(at).starts_with(text) ? at + text.size() : kNone;
}

// Behind this byte, class or set.
std::size_t ScriptPattern::end_of(std::size_t item) {
  const char first = pattern(item++);
  if (first == '%') {
    if (pattern(item) == '\0') return fail("malformed pattern (ends with '%')");
    return item + 1;
  }
  if (first != '[') return item;
  if (pattern(item) == '^') ++item;
  do {
    if (pattern(item) == '\0') return fail("malformed pattern (missing ']')");
    if (pattern(item++) == '%' && pattern(item) != '\0') ++item;
  } while (pattern(item) != ']');
  return item + 1;
}

bool ScriptPattern::is_one(std::size_t at, std::size_t item, std::size_t end) const {
  if (at >= subject_.size()) return false;
  const auto byte = static_cast<unsigned char>(subject_[at]);
  switch (pattern(item)) {
    case '.':
      return true;
    case '%':
      return in_class(byte, pattern(item + 1));
    case '[':
      return in_set(byte, item, end - 1);
    default:
      return static_cast<unsigned char>(pattern(item)) == byte;
  }
}

// `item` is at the "[", and `last` at the "]".
bool ScriptPattern::in_set(unsigned char byte, std::size_t item, std::size_t last) const {
  const auto bound = [&](std::size_t i) { return static_cast<unsigned char>(pattern(i)); };
  bool inside = true;
  if (pattern(item + 1) == '^') {
    inside = false;
    ++item;
  }
  while (++item < last) {
    if (pattern(item) == '%') {
      ++item;
      if (in_class(byte, pattern(item))) return inside;
    } else if (pattern(item + 1) == '-' && item + 2 < last) {
      item += 2;
      if (bound(item - 2) <= byte && byte <= bound(item)) return inside;
    } else if (bound(item) == byte) {
      return inside;
    }
  }
  return !inside;
}

}  // namespace quipu
