#include "protocol/varint.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace quipu::test {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::string written(std::uint64_t number) {
  std::array<std::uint8_t, 10> bytes;
  const std::uint8_t* const end = write_varint(bytes.data(), number);
  return {bytes.begin(), bytes.begin() + (end - bytes.data())};
}

TEST(Varint, has_seven_bits_a_byte_the_lowest_first) {
  EXPECT_EQ(written(0), std::string("\0", 1));
  EXPECT_EQ(written(127), "\x7f");
  EXPECT_EQ(written(128), "\x80\x01");
  EXPECT_EQ(written(300), "\xac\x02");
  EXPECT_EQ(written(kMost), std::string(9, '\xff') + '\1');
}

TEST(Varint, comes_back_and_leaves_what_is_behind) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t number : {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit}) {
      const std::string bytes = written(number) + "rest";
      std::string_view from = bytes;
      EXPECT_EQ(take_varint(from), number);
      EXPECT_EQ(from, "rest");
      EXPECT_EQ(varint_size(number) + 4, bytes.size());
    }
  }
  EXPECT_EQ(varint_size(kMost), 10u);
}

TEST(Varint, that_is_cut_off_or_too_long_is_none) {
  for (const std::string& bytes :
       {std::string(), std::string("\x80"), std::string(9, '\xff'), std::string(9, '\xff') + '\2',
        std::string(10, '\x80') + '\0', std::string(20, '\xff')}) {
    std::string_view from = bytes;
    EXPECT_EQ(take_varint(from), std::nullopt);
  }
}

TEST(Varint, zigzag_makes_small_numbers_of_either_sign_small) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> numbers{0, -1, 1, -2, kHigh, kLow};
  const std::vector<std::uint64_t> expected{0, 1, 2, 3, kMost - 1, kMost};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(zigzag(numbers[i]), expected[i]);
    EXPECT_EQ(unzigzag(expected[i]), numbers[i]);
  }
}

}  // namespace
}  // namespace quipu::test
