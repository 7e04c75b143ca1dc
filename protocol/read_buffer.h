// read_buffer.h: the bytes of one connection that were received and not parsed yet.
//
//   | consumed … | unread, buffered() bytes | room, from prepare() |
//
// The memory is 8-aligned, so if all messages are multiples of 8 bytes, each is aligned.
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
  // Makes room to read at least `want` bytes into. Then report how many bytes arrived.
  [[nodiscard]] std::span<std::byte> prepare(std::size_t want);
  void commit(std::size_t read);

  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }
  // They do not move until prepare() or fit().
  [[nodiscard]] std::string_view unread() const {
    return {reinterpret_cast<const char*>(words_.data()) + begin_, buffered()};
  }
  // For callers that must write into the bytes for a moment while parsing.
  [[nodiscard]] char* unread_bytes() { return reinterpret_cast<char*>(words_.data()) + begin_; }
  void consume(std::size_t bytes) {
    QUIPU_CHECK(bytes <= buffered(), "only buffered bytes are consumed", bytes, buffered());
    begin_ += bytes;
  }

  // Frees unused room. For a buffer that may wait for long.
  void fit();
  // Bytes of memory, room included.
  [[nodiscard]] std::size_t held() const { return words_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t begin_ = 0;  // bytes
  std::size_t end_ = 0;
};

}  // namespace quipu
