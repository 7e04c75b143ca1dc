#include "storage/serials.h"

#include <array>
#include <cstring>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr int kRounds = 6;
constexpr int kHalfBits = 31;
constexpr std::uint64_t kHalf = (std::uint64_t{1} << kHalfBits) - 1;

}  // namespace

std::uint64_t Serials::mix(std::uint64_t half, int round) const {
  const std::uint64_t input = half << 8 | static_cast<std::uint64_t>(round);
  std::array<char, sizeof input> bytes{};
  std::memcpy(bytes.data(), &input, sizeof input);
  return hash64(key_, {bytes.data(), bytes.size()}) & kHalf;
}

Serial Serials::issue() {
  QUIPU_CHECK(issued_ >> (2 * kHalfBits) == 0, "a start issues fewer than 2^62 serials", issued_);
  Halves halves{issued_ >> kHalfBits, issued_ & kHalf};
  ++issued_;
  for (int round = 0; round < kRounds; ++round)
    halves = {halves.right, halves.left ^ mix(halves.right, round)};
  return Serial{(halves.left << kHalfBits | halves.right) + 1};
}

bool Serials::issued(Serial serial) const {
  const std::uint64_t number = raw(serial) - 1;
  if (number >> (2 * kHalfBits) != 0) return false;
  Halves halves{number >> kHalfBits, number & kHalf};
  for (int round = kRounds - 1; round >= 0; --round)
    halves = {halves.right ^ mix(halves.left, round), halves.left};
  return (halves.left << kHalfBits | halves.right) < issued_;
}

}  // namespace quipu
