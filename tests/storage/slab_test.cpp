#include "storage/slab.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace quipu::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Slab, asks_for_nothing_before_it_is_used) { EXPECT_EQ(Slab().reserved(), 0u); }

TEST(Slab, cuts_small_pieces_from_one_chunk) {
  Slab slab;
  for (int i = 0; i < 1000; ++i) (void)slab.allocate(28);
  EXPECT_EQ(slab.reserved(), kMiB);
}

TEST(Slab, grows_by_huge_pages_once_it_is_large) {
  Slab slab;
  while (slab.reserved() < 8 * kMiB) std::memset(slab.allocate(1000), 1, 1000);
  while (slab.reserved() == 8 * kMiB) std::memset(slab.allocate(1000), 1, 1000);
  EXPECT_EQ(slab.reserved(), 10 * kMiB);
  const auto* const second = static_cast<char*>(slab.allocate(1000));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second - 1000) % (2 * kMiB), 16U)
      << "behind the chunk's number; elsewhere it cannot be a page";
  while (slab.used() < 9 * kMiB) std::memset(slab.allocate(1000), 1, 1000);
  EXPECT_EQ(slab.reserved(), 10 * kMiB);
}

TEST(Slab, gives_a_freed_piece_to_the_next_of_its_size) {
  Slab slab;
  void* first = slab.allocate(20);
  void* other = slab.allocate(24);
  slab.free(first, 20);
  EXPECT_NE(slab.allocate(24), first);
  EXPECT_EQ(slab.allocate(20), first);
  EXPECT_NE(slab.allocate(20), other);
}

TEST(Slab, gives_large_pieces_back_at_once) {
  Slab slab;
  void* large = slab.allocate(2048);
  EXPECT_EQ(slab.reserved(), 2048u);
  slab.free(large, 2048);
  EXPECT_EQ(slab.reserved(), 0u);
}

// Proven by the leak checker of the asan build.
TEST(Slab, takes_large_pieces_with_it) {
  Slab slab;
  std::memset(slab.allocate(8000), 1, 8000);
}

RC_GTEST_PROP(Slab, pieces_never_overlap, (const std::vector<std::uint16_t>& steps)) {
  struct Piece {
    unsigned char* bytes;
    std::size_t size;
    unsigned char mark;
  };
  Slab slab;
  std::vector<Piece> held;
  const auto intact = [](const Piece& piece) {
    for (std::size_t i = 0; i < piece.size; ++i) {
      if (piece.bytes[i] != piece.mark) return false;
    }
    return true;
  };
  unsigned char mark = 0;
  for (const std::uint16_t step : steps) {
    if (step % 3 == 0 && !held.empty()) {
      const std::size_t victim = step % held.size();
      RC_ASSERT(intact(held[victim]));
      slab.free(held[victim].bytes, held[victim].size);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
      continue;
    }
    const std::size_t size = Slab::rounded(step % 2400);  // around the border of small pieces
    auto* bytes = static_cast<unsigned char*>(slab.allocate(size));
    std::memset(bytes, ++mark, size);
    if (size < Slab::kLarge) {
      RC_ASSERT(Slab::number(bytes) != 0U);
      for (const Piece& other : held) {
        if (other.size < Slab::kLarge) RC_ASSERT(Slab::number(other.bytes) != Slab::number(bytes));
      }
    }
    held.push_back({bytes, size, mark});
  }
  for (const Piece& piece : held) RC_ASSERT(intact(piece));
  for (const Piece& piece : held) slab.free(piece.bytes, piece.size);
}

}  // namespace
}  // namespace quipu::test
