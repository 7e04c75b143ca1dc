#include "node/clients/resp/script_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace quipu {

// Its pages take memory only when they are first used.
ScriptMemory::ScriptMemory() : arena_(std::make_unique_for_overwrite<std::byte[]>(kArena)) {}

std::size_t ScriptMemory::class_of(std::size_t size) {
  if (size <= 256) return (size + 15) / 16;
  // The three highest bits of size - 1: 4 to 7, and the rest rounded up.
  const auto shift = static_cast<std::size_t>(std::bit_width(size - 1)) - 3;
  return 17 + (shift - 6) * 4 + ((size - 1) >> shift) - 4;
}

std::size_t ScriptMemory::size_of(std::size_t size_class) {
  if (size_class <= 16) return size_class * 16;
  return ((size_class - 17) % 4 + 5) << ((size_class - 17) / 4 + 6);
}

std::byte* ScriptMemory::take(std::size_t size_class) noexcept {
  std::byte*& first = books_.free[size_class];
  if (first != nullptr) {
    std::byte* const block = first;
    std::memcpy(&first, block, sizeof first);
    return block;
  }
  const std::size_t size = size_of(size_class);
  if (size > kArena - books_.top) return nullptr;
  std::byte* const block = arena_.get() + books_.top;
  books_.top += size;
  return block;
}

void ScriptMemory::give(void* block, std::size_t size) noexcept {
  std::byte*& first = books_.free[class_of(size)];
  std::memcpy(block, &first, sizeof first);
  first = static_cast<std::byte*>(block);
}

void* ScriptMemory::resize(void* block, std::size_t old_size, std::size_t new_size) noexcept {
  if (block == nullptr) old_size = 0;
  const bool grows = new_size > old_size;
  if (grows && (books_.refused || new_size > kMaxScriptBlock ||
                books_.held + (new_size - old_size) > kMaxScriptMemory))
    return nullptr;
  void* moved = block;
  if (new_size == 0) {
    moved = nullptr;
  } else if (block == nullptr || class_of(new_size) != class_of(old_size)) {
    moved = take(class_of(new_size));
    if (moved == nullptr && grows) return nullptr;
    // A block that cannot shrink stays where it is, and is given back as a smaller one.
    if (moved == nullptr) moved = block;
  }
  if (block != nullptr && moved != block) {
    if (moved != nullptr) std::memcpy(moved, block, std::min(old_size, new_size));
    give(block, old_size);
  }
  books_.held = books_.held + new_size - old_size;
  books_.largest = std::max(books_.largest, new_size);
  return moved;
}

ScriptMemory::Image ScriptMemory::image() const {
  Image image;
  image.books_ = books_;
  image.bytes_.assign(arena_.get(), arena_.get() + books_.top);
  return image;
}

void ScriptMemory::restore(const Image& image) {
  books_ = image.books_;
  books_.largest = 0;
  std::memcpy(arena_.get(), image.bytes_.data(), image.bytes_.size());
}

}  // namespace quipu
