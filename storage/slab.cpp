#include "storage/slab.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace quipu {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kSmallSlab = 8 * kChunk;
constexpr std::size_t kHugePage = 2 * kChunk;  // of x86-64, and of AArch64 with 4 KiB pages

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
  left_ = huge ? kHugePage : kChunk;
  chunks_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(left_, left_)));
  next_ = chunks_.back().get();
  if (next_ == nullptr) throw std::bad_alloc();
  if (huge) ::madvise(next_, left_, MADV_HUGEPAGE);  // as far as there are any
  reserved_ += left_;
}

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
