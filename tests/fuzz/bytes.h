// bytes.h: decisions, taken from the bytes of a chunk from front to back. After its end all
// bytes are zero.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace quipu::fuzz {

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() { return text(rest_.size()); }

  template <class Number>
  [[nodiscard]] Number number() {
    Number value{};
    const std::string_view from = text(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), from.size());
    return value;
  }
  [[nodiscard]] std::uint8_t byte() { return number<std::uint8_t>(); }
  [[nodiscard]] bool flag() { return (byte() & 1) != 0; }
  // 0 … bound-1; bound ≤ 256.
  [[nodiscard]] std::size_t below(std::size_t bound) { return byte() % bound; }
  [[nodiscard]] std::string_view text(std::size_t longest) {
    const std::string_view head = rest_.substr(0, longest);
    rest_.remove_prefix(head.size());
    return head;
  }

  // Usually small or at an edge, where sums reach their limits.
  [[nodiscard]] std::int64_t amount() {
    using Limits = std::numeric_limits<std::int64_t>;
    constexpr std::array<std::int64_t, 7> kEdges{Limits::max(),
                                                 Limits::min(),
                                                 Limits::max() - 1,
                                                 Limits::min() + 1,
                                                 Limits::max() / 2,
                                                 0,
                                                 -1};
    const auto choice = number<std::int8_t>();
    if (choice == std::numeric_limits<std::int8_t>::min()) return number<std::int64_t>();
    const auto edge = static_cast<std::size_t>(choice - 100);
    return choice >= 100 ? kEdges[edge % kEdges.size()] : choice;
  }
  // The same, from 0.
  [[nodiscard]] std::uint64_t count() {
    const std::uint8_t choice = byte();
    if (choice < 200) return choice;
    if (choice < 220) return std::numeric_limits<std::uint64_t>::max() - (choice - 200u);
    return number<std::uint64_t>();
  }

 private:
  std::string_view rest_;
};

}  // namespace quipu::fuzz
