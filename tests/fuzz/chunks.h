// chunks.h: an input as a list of events.
//
//   chunk = | kind u8 | length u16, little-endian | length bytes |
//
// Any bytes are such a list. The last chunk ends where the input ends. A mutator of our own
// (chunk_mutator.cpp) keeps the lengths correct, so that a changed frame does not become
// another frame's header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quipu::fuzz {

struct Chunk {
  std::uint8_t kind = 0;
  std::string bytes;
};

// No more than anybody reads: an input that is one, is one.
inline constexpr std::size_t kMaxChunks = 64;
inline constexpr std::size_t kMaxChunk = 0xffff;

[[nodiscard]] std::vector<Chunk> split(std::string_view input);
[[nodiscard]] std::string join(const std::vector<Chunk>& chunks);

}  // namespace quipu::fuzz
