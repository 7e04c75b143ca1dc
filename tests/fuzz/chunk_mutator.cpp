// chunk_mutator.cpp: libFuzzer's hooks for inputs that are lists of chunks. Linked
// into the targets that read such.
#include <algorithm>
#include <cstring>
#include <random>

#include "tests/fuzz/chunks.h"

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                      const std::uint8_t* data2, std::size_t size2,
                                      std::uint8_t* out, std::size_t max_size, unsigned seed);
}

namespace quipu::fuzz {
namespace {

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Whole chunks, as many as there is room for.
std::size_t put(std::vector<Chunk> chunks, std::uint8_t* out, std::size_t room) {
  std::string bytes = join(chunks);
  while (bytes.size() > room && chunks.size() > 1) {
    chunks.pop_back();
    bytes = join(chunks);
  }
  const std::size_t size = std::min(bytes.size(), room);
  std::memcpy(out, bytes.data(), size);
  return size;
}

void mutate_bytes(Chunk& chunk, std::size_t room) {
  const std::size_t size = chunk.bytes.size();
  chunk.bytes.resize(std::min(kMaxChunk, size + room));
  if (chunk.bytes.empty()) return;
  auto* const data = reinterpret_cast<std::uint8_t*>(chunk.bytes.data());
  chunk.bytes.resize(LLVMFuzzerMutate(data, size, chunk.bytes.size()));
}

}  // namespace
}  // namespace quipu::fuzz

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  using namespace quipu::fuzz;
  std::minstd_rand random(seed);
  std::vector<Chunk> chunks = split(text(data, size));
  if (chunks.empty()) chunks.emplace_back();
  const std::size_t at = random() % chunks.size();
  const auto place = chunks.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 16) {
    case 0:
      chunks.insert(place, Chunk(*place));
      break;
    case 1:
      if (chunks.size() > 1) chunks.erase(place);
      break;
    case 2:
      std::swap(chunks[at], chunks[random() % chunks.size()]);
      break;
    case 3:
      chunks[at].kind = static_cast<std::uint8_t>(random());
      break;
    case 4:
      chunks.insert(place, Chunk{static_cast<std::uint8_t>(random()), {}});
      break;
    default:
      mutate_bytes(chunks[at], std::min<std::size_t>(max_size - std::min(max_size, size), 64));
  }
  return put(std::move(chunks), data, max_size);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                      const std::uint8_t* data2, std::size_t size2,
                                      std::uint8_t* out, std::size_t max_size, unsigned seed) {
  using namespace quipu::fuzz;
  std::minstd_rand random(seed);
  std::vector<Chunk> chunks = split(text(data1, size1));
  const std::vector<Chunk> others = split(text(data2, size2));
  chunks.resize(random() % (chunks.size() + 1));
  const std::size_t from = random() % (others.size() + 1);
  chunks.insert(chunks.end(), others.begin() + static_cast<std::ptrdiff_t>(from), others.end());
  return put(std::move(chunks), out, max_size);
}
