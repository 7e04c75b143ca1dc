// distinct_words.h: what clients say to counters of different elements, and hear from them. What
// nodes keep and compute is in storage/kinds/distinct.h.
//
//   words   = 'a' hash…    adds elements; a hash has 8 bytes, the lowest first
//           | 'm' body     joins another counter's body
//   reply   = one byte: 1 if anything changed, else 0
//   answer  = a varint, two of them, or a body
//
// An element travels as its hash, so it may be of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocol/client_messages.h"
#include "protocol/keyed_hash.h"

namespace quipu::distinct {

// The first byte of words.
inline constexpr char kAdd = 'a', kMerge = 'm';

// So that the words of an op stay below their limit.
inline constexpr std::size_t kMaxElements = 16'384;
static_assert(1 + kMaxElements * sizeof(std::uint64_t) <= kMaxDecisionWords);

// Words that add the elements with these hashes (protocol/element.h). There may be none: the
// counter begins with 0.
[[nodiscard]] std::string words_of(std::span<const std::uint64_t> hashes);
// Words that join another counter's body. The executor refuses what is no body.
[[nodiscard]] std::string words_to_merge(std::string_view body);
// Whether the op changed anything, from its reply. A malformed reply says no.
[[nodiscard]] bool changed(std::string_view reply);

// How many different elements do the bodies have together?
inline constexpr std::string_view kCountQuestion{};
// The same, and how exact that is: the precision of the least precise body.
inline constexpr std::string_view kEstimateQuestion = "estimate";
// Their join itself, for words_to_merge(). The answer is a body, or empty if there are none.
inline constexpr std::string_view kUnionQuestion = "union";
// The answer to the first: the estimate, rounded, at most 2^63 − 1. nullopt: the reply is
// malformed.
[[nodiscard]] std::optional<std::uint64_t> count(std::string_view reply);
struct Estimate {
  std::uint64_t count = 0;
  unsigned precision = 0;  // 0: there are no bodies
  bool operator==(const Estimate&) const = default;
  // As a share of the count: 1.04 / √registers.
  [[nodiscard]] double standard_error() const;
};
// The answer to the second. nullopt: the reply is malformed.
[[nodiscard]] std::optional<Estimate> estimate(std::string_view reply);

}  // namespace quipu::distinct
