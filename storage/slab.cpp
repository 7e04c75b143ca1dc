#include "storage/slab.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace quipu {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kSmallSlab = 8 * kChunk;
constexpr std::size_t kHugePage = 2 * kChunk;  // of x86-64, and of AArch64 with 4 KiB pages

std::byte* map(std::size_t size) {
  void* const mapped =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(mapped);
}

// The ends of what is mapped to find a boundary go back. aligned_alloc would keep them,
// and the system may make huge pages of them, too.
std::byte* map_huge_page() {
  std::byte* const mapped = map(2 * kHugePage);
  const std::size_t behind = reinterpret_cast<std::uintptr_t>(mapped) % kHugePage;
  const std::size_t before = behind == 0 ? 0 : kHugePage - behind;
  std::byte* const page = mapped + before;
  if (before > 0) ::munmap(mapped, before);
  ::munmap(page + kHugePage, kHugePage - before);
  ::madvise(page, kHugePage, MADV_HUGEPAGE);  // as far as there are any
  return page;
}

}  // namespace

void* Slab::allocate(std::size_t size) {
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
  const bool huge = reserved_ >= kSmallSlab;
  const std::size_t size = huge ? kHugePage : kChunk;
  chunks_.push_back({huge ? map_huge_page() : map(size), Unmap{size}});
  next_ = chunks_.back().get();
  left_ = size;
  reserved_ += size;
}

void Slab::Unmap::operator()(std::byte* chunk) const { ::munmap(chunk, size); }

void Slab::free(void* piece, std::size_t size) {
  used_ -= size;
  if (size >= kLarge) {
    reserved_ -= size;
    large_.erase(piece);
    return;
  }
  void*& last = free_[size / kUnit];
  std::memcpy(piece, &last, sizeof last);
  last = piece;
}

}  // namespace quipu
