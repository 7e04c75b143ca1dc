#include "storage/slab.h"

#include <cstring>
#include <utility>

namespace quipu {

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
  if (left_ < size) {  // the tail of the old chunk is lost: below 2 KiB in 1 MiB
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
    next_ = chunks_.back().get();
    left_ = kChunk;
    reserved_ += kChunk;
  }
  void* piece = next_;
  next_ += size;
  left_ -= size;
  return piece;
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
