// frequency_words.h: what clients say to counters that estimate how often each element came, and
// hear from them. What nodes keep and compute is in storage/kinds/frequency.h.
//
//   words    = 'b' width depth          begins a counter of this size
//            | 'a' (hash:8 count)…      adds (protocol/element.h). A count may be 0
//   reply of 'b': one byte: 1, or 0 if the counter existed. Then nothing was changed
//   reply of 'a': for each pair, the estimate of its element after it
//
//   question = ''                       the total
//            | 'q' hash:8…              estimates
//            | 'i'                      the size
//   answer of 'q': bound depth estimate…
//   answer of 'i': width depth total    the size of the largest matrix, or 0 0 if there is none
//
// Where a counter is in slices, the reply of 'a' has the estimates after all of its increments.
//
// Numbers of words, replies and answers are varints. Sums above 2^63 − 1 are shown as that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quipu::frequency {

// ---- sizes ----

struct Size {
  std::uint32_t width = 0;
  std::uint32_t depth = 0;
  bool operator==(const Size&) const = default;
};

inline constexpr Size kUsualSize{2000, 7};
// An increment touches one cell in each row.
inline constexpr std::uint32_t kMostDepth = 10;
// One shard has no more. With cells of 8 bytes, these take 128 KiB.
inline constexpr std::uint32_t kMostCells = 16'384;
// A larger matrix is cut into slices of equal width, each in a shard of its own. The hash of
// an element chooses the slice.
inline constexpr std::uint32_t kMostSlices = 64;
inline constexpr std::uint32_t kMostWidth = kMostCells * kMostSlices;

// 0: it is in one shard. REQUIRES: 1 <= size.depth <= kMostDepth.
[[nodiscard]] constexpr std::uint32_t slice_count(Size size) {
  const std::uint32_t most_width = kMostCells / size.depth;
  return size.width <= most_width ? 0 : (size.width - 1) / most_width + 1;
}
[[nodiscard]] constexpr bool is_size(Size size) {
  return size.width >= 1 && size.width <= kMostWidth && size.depth >= 1 &&
         size.depth <= kMostDepth && slice_count(size) <= kMostSlices;
}
[[nodiscard]] constexpr std::uint32_t most_width(std::uint32_t depth) {
  return kMostCells / depth * kMostSlices;
}
// What one shard has of it.
[[nodiscard]] constexpr std::uint32_t row_width(Size size) {
  const std::uint32_t slices = slice_count(size);
  return slices == 0 ? size.width : (size.width - 1) / slices + 1;
}
[[nodiscard]] constexpr std::uint32_t cell_count(Size size) { return row_width(size) * size.depth; }

// ---- words, questions and replies ----

inline constexpr char kBegin = 'b', kAdd = 'a';  // the first byte of words …
inline constexpr char kAbout = 'q';              // … and of a question

struct Increment {
  std::uint64_t hash = 0;  // of an element
  std::uint64_t count = 0;
};

// Words that begin a counter. Refused with out_of_range unless is_size(size).
[[nodiscard]] std::string words_to_begin(Size size);
// Words that add. Refused with out_of_range, as a whole, if a total would be above 2^63 − 1.
[[nodiscard]] std::string words_to_add(std::span<const Increment> increments);

// Whether words_to_begin() began the counter, from the reply. Else it existed. A malformed reply
// says no.
[[nodiscard]] bool began(std::string_view reply);
// The estimates after words_to_add(), in the same order. nullopt: the reply is malformed. So below.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> added(std::string_view reply);

inline constexpr std::string_view kTotalQuestion{};
inline constexpr std::string_view kInfoQuestion = "i";
[[nodiscard]] std::string question_about(std::span<const std::uint64_t> hashes);

[[nodiscard]] std::optional<std::uint64_t> total(std::string_view reply);

struct Info {
  Size size{};  // all 0: there is no matrix
  std::uint64_t total = 0;
  bool operator==(const Info&) const = default;
};
[[nodiscard]] std::optional<Info> info(std::string_view reply);

struct Estimates {
  std::uint64_t bound = 0;  // each is too high by no more than this …
  std::uint32_t depth = 0;  // … with the probability 1 − e^−depth. 0: there is no matrix
  std::vector<std::uint64_t> counts{};
  bool operator==(const Estimates&) const = default;
};
[[nodiscard]] std::optional<Estimates> estimates(std::string_view reply);

}  // namespace quipu::frequency
