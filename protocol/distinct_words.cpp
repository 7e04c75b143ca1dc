#include "protocol/distinct_words.h"

#include <bit>
#include <cmath>

#include "protocol/varint.h"
#include "quipu/namespace.h"

namespace quipu::distinct {

static_assert(std::endian::native == std::endian::little, "hashes are sent as they are in memory");

std::string words_of(std::span<const std::uint64_t> hashes) {
  std::string words(1, kAdd);
  words.append(reinterpret_cast<const char*>(hashes.data()), hashes.size_bytes());
  return words;
}

std::string words_to_merge(std::string_view body) { return kMerge + std::string(body); }

bool changed(std::string_view reply) { return reply == "\1"; }

std::optional<std::uint64_t> count(std::string_view reply) {
  const std::optional<std::uint64_t> count = take_varint(reply);
  return reply.empty() ? count : std::nullopt;
}

std::optional<Estimate> estimate(std::string_view reply) {
  const std::optional<std::uint64_t> count = take_varint(reply), precision = take_varint(reply);
  if (!count || !precision || *precision > kMostPrecision || !reply.empty()) return std::nullopt;
  return Estimate{*count, static_cast<unsigned>(*precision)};
}

double Estimate::standard_error() const {
  return precision == 0 ? 0 : 1.04 / std::sqrt(std::ldexp(1.0, static_cast<int>(precision)));
}

}  // namespace quipu::distinct
