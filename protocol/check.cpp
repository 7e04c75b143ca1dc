#include "protocol/check.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace quipu {
namespace {

thread_local bool checks_throw = false;

// The next of the names separated by commas. Commas within brackets do not separate.
std::string_view take_name(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size(); ++end) {
    const char one = names[end];
    if (one == ',' && depth == 0) break;
    if (one == '(' || one == '[' || one == '{') ++depth;
    if (one == ')' || one == ']' || one == '}') --depth;
  }
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(end == names.size() ? end : end + 1);
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  return name;
}

}  // namespace

std::string CheckValue::text() const {
  switch (kind_) {
    case Kind::number:
      return std::to_string(number_);
    case Kind::negative_too:
      return std::to_string(static_cast<std::int64_t>(number_));
    case Kind::text:
      return '"' + std::string(text_) + '"';
  }
  return {};
}

std::string describe(const FailedCheck& check, std::initializer_list<CheckValue> values) {
  std::string text = "check failed: ";
  text.append(check.condition).append("\n  ").append(check.meaning).append("\n");
  std::string_view names = check.values;
  const char* between = "  ";
  for (const CheckValue& value : values) {
    text.append(between).append(take_name(names)).append(" = ").append(value.text());
    between = ", ";
  }
  if (values.size() > 0) text.append("\n");
  text.append("  ").append(check.file).append(":").append(std::to_string(check.line));
  text.append(", in ").append(check.function).append("\n");
  return text;
}

void fail_check(const FailedCheck& check, std::initializer_list<CheckValue> values) {
  const std::string text = describe(check, values);
  if (checks_throw) throw CheckFailure(text);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

ChecksThrow::ChecksThrow() : before_(std::exchange(checks_throw, true)) {}

ChecksThrow::~ChecksThrow() { checks_throw = before_; }

}  // namespace quipu
