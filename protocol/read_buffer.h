// read_buffer.h: bytes of one connection that came and were not understood yet.
//
//   | consumed … | unread, buffered() bytes | room, from prepare() |
//
// The memory is 8-aligned, so that whoever consumes multiples of 8 finds its next
// message aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/check.h"

namespace quipu {

class ReadBuffer {
 public:
  // Room for at least `want` bytes to be read into; then tell how many came.
  [[nodiscard]] std::span<std::byte> prepare(std::size_t want);
  void commit(std::size_t read);

  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }
  // They stand still until prepare() or fit().
  [[nodiscard]] std::string_view unread() const {
    return {reinterpret_cast<const char*>(words_.data()) + begin_, buffered()};
  }
  // For whoever must write into what it reads for a moment.
  [[nodiscard]] char* unread_bytes() { return reinterpret_cast<char*>(words_.data()) + begin_; }
  void consume(std::size_t bytes) {
    QUIPU_CHECK(bytes <= buffered(), "only what is buffered is consumed", bytes, buffered());
    begin_ += bytes;
  }

  // Gives back the room that nothing is in, of a buffer that may wait for long.
  void fit();
  // Bytes of memory, room included.
  [[nodiscard]] std::size_t held() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t begin_ = 0;  // bytes
  std::size_t end_ = 0;
};

}  // namespace quipu
