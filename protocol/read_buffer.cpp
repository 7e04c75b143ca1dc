#include "protocol/read_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/check.h"

namespace quipu {
namespace {

// The most memory that an idle connection keeps. A longer buffer is freed.
constexpr std::size_t kIdleBuffer = std::size_t{64} << 10;

constexpr std::size_t words(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

std::span<std::byte> ReadBuffer::prepare(std::size_t want) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (words_.size() > words(std::max(kIdleBuffer, want)))
      words_ = std::vector<std::uint64_t>();  // {} would keep the room
  }
  if (words_.size() * 8 - end_ < want) {
    std::byte* const bytes = reinterpret_cast<std::byte*>(words_.data());
    if (begin_ != 0) std::memmove(bytes, bytes + begin_, buffered());
    end_ -= std::exchange(begin_, 0);
    if (words_.size() * 8 - end_ < want) words_.resize(words(end_ + want));
  }
  return std::as_writable_bytes(std::span(words_)).subspan(end_);
}

void ReadBuffer::commit(std::size_t read) {
  QUIPU_CHECK(read <= words_.size() * 8 - end_, "a read fits the prepared room", read);
  end_ += read;
}

void ReadBuffer::fit() {
  std::vector<std::uint64_t> fitting(words(buffered()));
  if (buffered() > 0) std::memcpy(fitting.data(), unread_bytes(), buffered());
  words_ = std::move(fitting);
  end_ -= std::exchange(begin_, 0);
}

}  // namespace quipu
