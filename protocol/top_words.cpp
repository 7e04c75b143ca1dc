#include "protocol/top_words.h"

#include <bit>
#include <cstring>
#include <limits>

#include "protocol/varint.h"

namespace quipu::top {
namespace {

static_assert(std::endian::native == std::endian::little, "a double is sent as it is in memory");

// One byte, 0 or 1.
std::optional<bool> take_bit(std::string_view& from) {
  if (from.empty() || (from.front() != '\0' && from.front() != '\1')) return std::nullopt;
  const bool bit = from.front() == '\1';
  from.remove_prefix(1);
  return bit;
}

// As many as there are; nullopt if one is malformed.
template <class Value, class Take>
std::optional<std::vector<Value>> take_all(std::string_view from, Take take) {
  std::vector<Value> all;
  while (!from.empty()) {
    std::optional<Value> value = take(from);
    if (!value) return std::nullopt;
    all.push_back(std::move(*value));
  }
  return all;
}

}  // namespace

void append_item(std::string& to, std::string_view item) {
  append_varint(to, item.size());
  to += item;
}

std::optional<std::string_view> take_item(std::string_view& from) {
  const std::optional<std::uint64_t> size = take_varint(from);
  if (!size || *size > kMaxItem || *size > from.size()) return std::nullopt;
  const std::string_view item = from.substr(0, *size);
  from.remove_prefix(*size);
  return item;
}

void append_shape(std::string& to, const Shape& shape) {
  append_varint(to, shape.k);
  append_varint(to, shape.width);
  append_varint(to, shape.depth);
  to.append(reinterpret_cast<const char*>(&shape.decay), sizeof shape.decay);
}

std::optional<Shape> take_shape(std::string_view& from) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::optional<std::uint64_t> k = take_varint(from), width = take_varint(from),
                                     depth = take_varint(from);
  if (!k || !width || !depth || *k > kMost || *width > kMost || *depth > kMost) return std::nullopt;
  Shape shape{.k = static_cast<std::uint32_t>(*k),
              .width = static_cast<std::uint32_t>(*width),
              .depth = static_cast<std::uint32_t>(*depth)};
  if (from.size() < sizeof shape.decay) return std::nullopt;
  std::memcpy(&shape.decay, from.data(), sizeof shape.decay);
  from.remove_prefix(sizeof shape.decay);
  return shape;
}

std::string words_to_begin(const Shape& shape) {
  std::string words(1, kBegin);
  append_shape(words, shape);
  return words;
}

std::string words_to_add(std::span<const Increment> increments) {
  std::string words(1, kAdd);
  for (const Increment& each : increments) {
    append_item(words, each.item);
    append_varint(words, each.count);
  }
  return words;
}

bool began(std::string_view reply) { return reply == "\1"; }

std::optional<std::vector<std::optional<std::string>>> expelled(std::string_view reply) {
  using Expelled = std::optional<std::string>;
  return take_all<Expelled>(reply, [](std::string_view& from) -> std::optional<Expelled> {
    const std::optional<bool> any = take_bit(from);
    if (!any) return std::nullopt;
    if (!*any) return Expelled();
    const std::optional<std::string_view> item = take_item(from);
    if (!item) return std::nullopt;
    return Expelled(*item);
  });
}

std::string question_about(std::span<const std::string> items) {
  std::string question(1, kAbout);
  for (const std::string& item : items) append_item(question, item);
  return question;
}

std::optional<std::uint64_t> total(std::string_view reply) {
  const std::optional<std::uint64_t> total = take_varint(reply);
  return reply.empty() ? total : std::nullopt;
}

std::optional<std::vector<Listed>> list(std::string_view reply) {
  return take_all<Listed>(reply, [](std::string_view& from) -> std::optional<Listed> {
    const std::optional<std::string_view> item = take_item(from);
    const std::optional<std::uint64_t> upper = take_varint(from), lower = take_varint(from);
    const std::optional<bool> certain = take_bit(from);
    if (!item || !upper || !lower || !certain) return std::nullopt;
    return Listed{std::string(*item), *upper, *lower, *certain};
  });
}

std::optional<std::vector<Standing>> standings(std::string_view reply) {
  return take_all<Standing>(reply, [](std::string_view& from) -> std::optional<Standing> {
    const std::optional<bool> listed = take_bit(from);
    const std::optional<std::uint64_t> upper = take_varint(from), lower = take_varint(from);
    if (!listed || !upper || !lower) return std::nullopt;
    return Standing{*listed, *upper, *lower};
  });
}

std::optional<Shape> info(std::string_view reply) {
  const std::optional<Shape> shape = take_shape(reply);
  if (!shape || !reply.empty()) return std::nullopt;
  return is_shape(*shape) || *shape == Shape{} ? shape : std::nullopt;
}

}  // namespace quipu::top
