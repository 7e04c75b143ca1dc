#include "storage/slab.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kSmallSlab = 8 * kChunk;
constexpr std::size_t kHugePage = 2 * kChunk;  // of x86-64, and of AArch64 with 4 KiB pages

// A piece's number: its chunk, and the 16 bytes in which it begins. No other piece begins
// there, since none is smaller.
constexpr std::size_t kChunkHeader = Slab::kLeast;
constexpr unsigned kPlaceBits = 17;
static_assert(kHugePage / Slab::kLeast == std::size_t{1} << kPlaceBits);
constexpr std::uint32_t kNumbered = std::uint32_t{1} << (32 - kPlaceBits);  // chunks: 64 GiB

// `size` bytes, aligned to a huge page. The unused ends of the mapping are returned.
// aligned_alloc would keep them, and the system may make huge pages of them, too.
std::byte* map(std::size_t size) {
  void* const mapped =
      ::mmap(nullptr, 2 * kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t behind = reinterpret_cast<std::uintptr_t>(mapped) % kHugePage;
  const std::size_t before = behind == 0 ? 0 : kHugePage - behind;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + size, 2 * kHugePage - before - size);
  return begin + before;
}

}  // namespace

void* Slab::allocate(std::size_t size) {
  QUIPU_CHECK(size == rounded(size), "pieces have sizes from rounded()", size);
  used_ += size;
  if (size >= kLarge) {
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    reserved_ += size;
    void* large = bytes.get();
    large_.emplace(large, std::move(bytes));
    return large;
  }
  void*& last = free_[size / kUnit];
  if (void* const reused = last) {
    std::memcpy(&last, reused, sizeof last);
    return reused;
  }
  if (left_ < size) add_chunk();  // the tail of the old one is lost: below 2 KiB
  void* piece = next_;
  next_ += size;
  left_ -= size;
  return piece;
}

void Slab::add_chunk() {
  QUIPU_CHECK(left_ < kLarge, "a new chunk leaves less than a large piece unused", left_);
  const bool huge = reserved_ >= kSmallSlab;
  const std::size_t size = huge ? kHugePage : kChunk;
  const auto number = static_cast<std::uint32_t>(chunks_.size());
  chunks_.push_back({map(size), Unmap{size}});
  std::byte* const chunk = chunks_.back().get();
  if (huge) ::madvise(chunk, size, MADV_HUGEPAGE);  // as far as there are any
  std::memcpy(chunk, &number, sizeof number);
  next_ = chunk + kChunkHeader;
  left_ = size - kChunkHeader;
  reserved_ += size;
}

std::uint32_t Slab::number(const void* piece) {
  const auto address = reinterpret_cast<std::uintptr_t>(piece);
  std::uint32_t chunk = 0;
  std::memcpy(&chunk, reinterpret_cast<const void*>(address & ~(kHugePage - 1)), sizeof chunk);
  if (chunk >= kNumbered) return 0;
  return chunk << kPlaceBits | static_cast<std::uint32_t>(address % kHugePage / kLeast);
}

void Slab::Unmap::operator()(std::byte* chunk) const { ::munmap(chunk, size); }

void Slab::free(void* piece, std::size_t size) {
  QUIPU_CHECK(size == rounded(size) && size <= used_, "a piece is freed with the size that it has",
              size, used_);
  used_ -= size;
  if (size >= kLarge) {
    QUIPU_CHECK(size <= reserved_, "a large piece was asked of the system", size, reserved_);
    reserved_ -= size;
    const std::size_t erased = large_.erase(piece);
    QUIPU_CHECK(erased == 1, "a large piece is freed once", size);
    return;
  }
  void*& last = free_[size / kUnit];
  QUIPU_CHECK(piece != last, "a piece is freed once", size);
  std::memcpy(piece, &last, sizeof last);
  last = piece;
}

}  // namespace quipu
