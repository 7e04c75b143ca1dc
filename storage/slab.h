// slab.h: memory for packed entries, without a header per piece.
//
// Pieces are multiples of 4 bytes, cut from chunks and reused by size, so a counter takes
// exactly its size. Chunks are freed only with the slab. So are pieces that were never freed.
//
// A small slab has chunks of 1 MiB. Beyond 8 MiB, chunks are huge pages, if the system has
// some: else a look at one of many counters would miss the TLB as well as the cache. A chunk
// begins with its number, if its address is a multiple of 2 MiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace quipu {

class Slab {
 public:
  static constexpr std::size_t kUnit = 4;  // bytes; pieces are aligned to this
  static constexpr std::size_t kLeast = 16;

  // The size of a piece for this many bytes.
  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) {
    return bytes < kLeast ? kLeast : (bytes + kUnit - 1) / kUnit * kUnit;
  }
  // `size`: from rounded().
  [[nodiscard]] void* allocate(std::size_t size);
  void free(void* piece, std::size_t size);

  // Such pieces are rare, and are allocated from the heap.
  static constexpr std::size_t kLarge = 2048;
  // A number that no other piece has while this one lives. 0: it has none. REQUIRES: smaller
  // than kLarge.
  [[nodiscard]] static std::uint32_t number(const void* piece);

  // Bytes allocated from the operating system.
  [[nodiscard]] std::size_t reserved() const { return reserved_; }
  // Bytes of these in pieces that are not free.
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(std::byte* chunk) const;
  };
  void add_chunk();

  std::vector<std::unique_ptr<std::byte[], Unmap>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;  // bytes behind next_
  std::size_t reserved_ = 0;
  std::size_t used_ = 0;
  std::array<void*, kLarge / kUnit> free_{};  // the last one freed, which points to the one before
  std::unordered_map<void*, std::unique_ptr<std::byte[]>> large_;  // never iterated
};

}  // namespace quipu
