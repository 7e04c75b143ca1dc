#include "tests/fuzz/chunks.h"

#include <algorithm>

namespace quipu::fuzz {
namespace {

constexpr std::size_t kHead = 3;

}  // namespace

std::vector<Chunk> split(std::string_view input) {
  std::vector<Chunk> chunks;
  while (input.size() >= kHead && chunks.size() < kMaxChunks) {
    const std::size_t low = static_cast<unsigned char>(input[1]);
    const std::size_t high = static_cast<unsigned char>(input[2]);
    const std::size_t length = std::min(low | high << 8, input.size() - kHead);
    chunks.push_back(
        {static_cast<std::uint8_t>(input[0]), std::string(input.substr(kHead, length))});
    input.remove_prefix(kHead + length);
  }
  return chunks;
}

std::string join(const std::vector<Chunk>& chunks) {
  std::string input;
  for (const Chunk& chunk : chunks) {
    const std::size_t length = std::min(chunk.bytes.size(), kMaxChunk);
    input += static_cast<char>(chunk.kind);
    input += static_cast<char>(length & 0xff);
    input += static_cast<char>(length >> 8);
    input.append(chunk.bytes, 0, length);
  }
  return input;
}

}  // namespace quipu::fuzz
