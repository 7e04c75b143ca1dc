// top_words.h: what clients say to counters of the most frequent items, and hear from them. What
// nodes keep and compute is in storage/kinds/top.h.
//
//   words    = 'b' k width depth decay:8     begins a counter that lists k items
//            | 'a' (item count)…             adds. A count may be 0
//   item     = length byte…                  travels as it is, since the list shows it
//   reply of 'b': one byte: 1, or 0 if the counter existed. Then nothing was changed
//   reply of 'a': for each pair, 0, or 1 and the item that it pushed off the list
//
//   question = ''                            the total
//            | 'l'                           the list
//            | 'q' item…                     about these items
//            | 'i'                           the shape
//   answer of 'l': (item upper lower certain:1)…    the most frequent first
//   answer of 'q': (listed:1 upper lower)…
//   answer of 'i': k width depth decay:8     all 0 if there is no counter
//
// Numbers are varints, but decay is a double. Sums above 2^63 − 1 are shown as that.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/client_messages.h"

namespace quipu::top {

// ---- shapes ----

// Only k means something here. The others are what Redis clients say to a HeavyKeeper: they are
// kept to be reported again.
struct Shape {
  std::uint32_t k = 0;  // how many items the list has
  std::uint32_t width = 0;
  std::uint32_t depth = 0;
  double decay = 0;  // 0 to 1
  bool operator==(const Shape&) const = default;
};

inline constexpr std::uint32_t kMostListed = 100;
inline constexpr Shape kUsualShape{.k = 10, .width = 8, .depth = 7, .decay = 0.9};

[[nodiscard]] constexpr bool is_shape(const Shape& shape) {
  const bool is_decay = std::bit_cast<std::uint64_t>(shape.decay) <=
                        std::bit_cast<std::uint64_t>(1.0);  // neither −0, nor no number
  return shape.k >= 1 && shape.k <= kMostListed && is_decay;
}

// ---- words, questions and replies ----

inline constexpr char kBegin = 'b', kAdd = 'a';  // the first byte of words …
inline constexpr char kAbout = 'q';              // … and of a question

inline constexpr std::size_t kMaxItem = 128;  // bytes of an item
// The most in one op. Each takes a node a few microseconds.
inline constexpr std::size_t kMaxItems = 1024;
static_assert(1 + kMaxItems * (2 + kMaxItem + 10) <= kMaxDecisionWords);

struct Increment {
  std::string_view item{};
  std::uint64_t count = 1;
};

// Words that begin a counter. Refused with out_of_range unless is_shape(shape).
[[nodiscard]] std::string words_to_begin(const Shape& shape);
// Words that add. All are refused, with invalid_argument if an item has more than kMaxItem bytes;
// with out_of_range if there are more than kMaxItems, or a total would be above 2^63 − 1.
[[nodiscard]] std::string words_to_add(std::span<const Increment> increments);

// Whether words_to_begin() began the counter, from the reply. Else it existed. A malformed reply
// says no.
[[nodiscard]] bool began(std::string_view reply);
// For each increment of words_to_add(), the item that it pushed off the list, if any. nullopt: the
// reply is malformed. So below.
[[nodiscard]] std::optional<std::vector<std::optional<std::string>>> expelled(
    std::string_view reply);

inline constexpr std::string_view kTotalQuestion{};
inline constexpr std::string_view kListQuestion = "l";
inline constexpr std::string_view kInfoQuestion = "i";
// Refused with invalid_argument if an item has more than kMaxItem bytes.
[[nodiscard]] std::string question_about(std::span<const std::string> items);

[[nodiscard]] std::optional<std::uint64_t> total(std::string_view reply);

// The item was added at least `lower` and at most `upper` times.
struct Listed {
  std::string item{};
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  bool certain = false;  // it surely belongs on the list: no item beside the list came more often
  bool operator==(const Listed&) const = default;
};
// By upper, descending; then by item.
[[nodiscard]] std::optional<std::vector<Listed>> list(std::string_view reply);

struct Standing {
  bool listed = false;
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;  // 0: the counter may never have seen the item
  bool operator==(const Standing&) const = default;
};
[[nodiscard]] std::optional<std::vector<Standing>> standings(std::string_view reply);

// k is 0 if there is no counter.
[[nodiscard]] std::optional<Shape> info(std::string_view reply);

// ---- their parts, for the kind itself ----

void append_item(std::string& to, std::string_view item);
// Takes one off the front. Nothing: it is cut off, or longer than kMaxItem. The item borrows.
[[nodiscard]] std::optional<std::string_view> take_item(std::string_view& from);
// In words of 'b' and the answer of 'i'. Nothing: it is cut off, or its numbers are too great for
// their types. It may be no shape.
[[nodiscard]] std::optional<Shape> take_shape(std::string_view& from);
void append_shape(std::string& to, const Shape& shape);

}  // namespace quipu::top
