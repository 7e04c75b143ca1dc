// script_memory.h: the memory of a script. It is bounded, and can be put back as it was.
//
//   arena: [ prepared state | what a script allocates ………│ never used ]
//            ▲ restore(image) writes these bytes again     ▲ top
//
// All of an interpreter is in one arena at a fixed address. So a copy of the arena's used bytes is
// a copy of the interpreter, and restoring it costs a memcpy of some 20 KiB. Nothing that a
// script did to its interpreter outlives that.
//
// Invariant: held() is at most kMaxScriptMemory, and no block is larger than kMaxScriptBlock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quipu {

// Far more than a script about counters needs. Garbage that was not collected yet counts.
inline constexpr std::size_t kMaxScriptMemory = std::size_t{1} << 20;
// One string, or one part of a table. Many operations take time in proportion to one block.
inline constexpr std::size_t kMaxScriptBlock = std::size_t{256} << 10;

class ScriptMemory {
  // Sizes are rounded up to a class: multiples of 16 up to 256, then four for each doubling.
  // Freed blocks are kept in a list for their class. They are never merged, so the arena is
  // larger than what may be held.
  static constexpr std::size_t kArena = 4 * kMaxScriptMemory;
  static constexpr std::size_t kClasses = 57;

  struct Books {
    std::size_t top = 0;
    std::size_t held = 0;
    std::size_t largest = 0;
    bool refused = false;
    std::array<std::byte*, kClasses> free{};  // the first of each list; each begins with the next
  };

 public:
  ScriptMemory();
  ScriptMemory(const ScriptMemory&) = delete;
  ScriptMemory& operator=(const ScriptMemory&) = delete;

  // Allocates (block is null), frees (new_size is 0) or resizes a block. Null: refused, and the
  // block is as it was. Shrinking is never refused.
  [[nodiscard]] void* resize(void* block, std::size_t old_size, std::size_t new_size) noexcept;
  // From now on, all growth is refused, until restore().
  void refuse() noexcept { books_.refused = true; }
  [[nodiscard]] bool refused() const { return books_.refused; }
  [[nodiscard]] std::size_t held() const { return books_.held; }
  // The largest block since the last restore().
  [[nodiscard]] std::size_t largest() const { return books_.largest; }

  // What all blocks held at some moment.
  class Image {
   public:
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

   private:
    friend class ScriptMemory;
    Books books_;
    std::vector<std::byte> bytes_;
  };
  [[nodiscard]] Image image() const;
  // REQUIRES: the image is of this memory.
  void restore(const Image& image);

 private:
  [[nodiscard]] static std::size_t class_of(std::size_t size);
  [[nodiscard]] static std::size_t size_of(std::size_t size_class);
  [[nodiscard]] std::byte* take(std::size_t size_class) noexcept;
  void give(void* block, std::size_t size) noexcept;

  std::unique_ptr<std::byte[]> arena_;
  Books books_;
};

}  // namespace quipu
