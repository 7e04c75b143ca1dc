#include "protocol/frequency_words.h"

#include <bit>

#include "protocol/varint.h"

namespace quipu::frequency {
namespace {

static_assert(std::endian::native == std::endian::little, "hashes are sent as they are in memory");

constexpr std::size_t kHash = sizeof(std::uint64_t);

std::optional<std::vector<std::uint64_t>> read_varints(std::string_view bytes) {
  std::vector<std::uint64_t> numbers;
  while (!bytes.empty()) {
    const std::optional<std::uint64_t> number = take_varint(bytes);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string words_to_begin(Size size) {
  std::string words(1, kBegin);
  append_varint(words, size.width);
  append_varint(words, size.depth);
  return words;
}

std::string words_to_add(std::span<const Increment> increments) {
  std::string words(1, kAdd);
  for (const Increment& each : increments) {
    words.append(reinterpret_cast<const char*>(&each.hash), kHash);
    append_varint(words, each.count);
  }
  return words;
}

bool began(std::string_view reply) { return reply == "\1"; }

std::optional<std::vector<std::uint64_t>> added(std::string_view reply) {
  return read_varints(reply);
}

std::string question_about(std::span<const std::uint64_t> hashes) {
  std::string question(1, kAbout);
  question.append(reinterpret_cast<const char*>(hashes.data()), hashes.size_bytes());
  return question;
}

std::optional<std::uint64_t> total(std::string_view reply) {
  const std::optional<std::uint64_t> total = take_varint(reply);
  return reply.empty() ? total : std::nullopt;
}

std::optional<Info> info(std::string_view reply) {
  const auto numbers = read_varints(reply);
  if (!numbers || numbers->size() != 3) return std::nullopt;
  const std::uint64_t width = numbers->at(0), depth = numbers->at(1);
  if (width > kMostWidth || depth > kMostDepth) return std::nullopt;
  return Info{{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(depth)},
              numbers->at(2)};
}

std::optional<Estimates> estimates(std::string_view reply) {
  auto numbers = read_varints(reply);
  if (!numbers || numbers->size() < 2 || (*numbers)[1] > kMostDepth) return std::nullopt;
  return Estimates{(*numbers)[0],
                   static_cast<std::uint32_t>((*numbers)[1]),
                   {numbers->begin() + 2, numbers->end()}};
}

}  // namespace quipu::frequency
