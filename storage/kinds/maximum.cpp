#include "storage/kinds/maximum.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "protocol/check.h"
#include "protocol/varint.h"

namespace quipu {
namespace maximum {
namespace {

constexpr char kOffer = 'm';  // the first byte of words
constexpr std::size_t kBytes = sizeof(std::int64_t);
constexpr Unit kUnit = 0;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::string body_of(std::int64_t number) {
  const std::uint64_t ordered = static_cast<std::uint64_t>(number) ^ kSign;
  std::string body(kBytes, '\0');
  for (std::size_t i = 0; i < kBytes; ++i)
    body[i] = static_cast<char>(ordered >> 8 * (kBytes - 1 - i));
  return body;
}

std::int64_t number_of(std::string_view body) {
  QUIPU_CHECK(body.size() == kBytes, "only a sound body is read", body.size());
  std::uint64_t ordered = 0;
  for (const char byte : body) ordered = ordered << 8 | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(ordered ^ kSign);
}

bool sound(std::string_view body) { return body.size() == kBytes; }

// Whether anything changed.
bool raise(Edit& into, std::string_view to) {
  if (into.body().empty()) {
    into.replace(std::string(to));
    into.note_all();
    return true;
  }
  into.rest_on(kUnit);
  if (into.body() >= to) return false;
  std::memcpy(into.change(), to.data(), kBytes);
  into.note(kUnit);
  return true;
}

void join(Edit& into, std::string_view from) { raise(into, from); }

std::string extract(std::string_view body, std::span<const Unit> units) {
  const bool wanted = std::ranges::find(units, kUnit) != units.end();
  return wanted ? std::string(body) : body_of(kLeast);
}

Code apply(Edit& into, const KindOp& op, std::string& reply) {
  if (op.words.size() != 1 + kBytes || op.words.front() != kOffer) return Code::invalid_argument;
  std::int64_t number = 0;
  std::memcpy(&number, op.words.data() + 1, kBytes);
  reply.assign(1, raise(into, body_of(number)) ? '\1' : '\0');
  return Code::ok;
}

Code answer(std::span<const std::string_view> bodies, std::string_view question,
            std::string& reply) {
  if (question != kNumberQuestion) return Code::invalid_argument;
  const auto greatest = std::ranges::max_element(bodies);
  const std::int64_t number = greatest == bodies.end() ? 0 : number_of(*greatest);
  reply.clear();
  append_varint(reply, static_cast<std::uint64_t>(number));
  return Code::ok;
}

}  // namespace

std::string words_of(std::int64_t number) {
  std::string words(1 + kBytes, kOffer);
  std::memcpy(words.data() + 1, &number, kBytes);
  return words;
}

bool raised(std::string_view reply) { return reply == "\1"; }

std::optional<std::int64_t> number(std::string_view reply) {
  const std::optional<std::uint64_t> number = take_varint(reply);
  if (!number || !reply.empty()) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace maximum

const KindRules kMaximum{"maximum",        maximum::sound, maximum::join,
                         maximum::extract, maximum::apply, maximum::answer};

}  // namespace quipu
