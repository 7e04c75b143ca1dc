#include "storage/slab.h"

#include <new>
#include <utility>

namespace quipu {

void* Slab::allocate(std::size_t units) {
  used_ += units * kUnit;
  if (units >= kSmall) {
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(units * kUnit);
    reserved_ += units * kUnit;
    void* large = bytes.get();
    large_.emplace(large, std::move(bytes));
    return large;
  }
  if (Free* reused = free_[units]) {
    free_[units] = reused->next;
    return reused;
  }
  const std::size_t bytes = units * kUnit;
  if (left_ < bytes) {  // the tail of the old chunk is lost: below 2 KiB in 1 MiB
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
    next_ = chunks_.back().get();
    left_ = kChunk;
    reserved_ += kChunk;
  }
  void* piece = next_;
  next_ += bytes;
  left_ -= bytes;
  return piece;
}

void Slab::free(void* piece, std::size_t units) {
  used_ -= units * kUnit;
  if (units >= kSmall) {
    reserved_ -= units * kUnit;
    large_.erase(piece);
    return;
  }
  free_[units] = new (piece) Free{free_[units]};
}

}  // namespace quipu
