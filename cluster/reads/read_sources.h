// read_sources.h: where reads found their answers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace quipu {

// In the order of what they cost. A read has the highest that any of its shards had.
enum class ReadSource : std::uint8_t {
  memory,  // of this node
  cache,   // of answers of other owners
  owner,   // owners were asked for this read
};

struct ReadSources {
  std::uint64_t memory = 0, cache = 0, owner = 0;

  void count(ReadSource source) {
    ++(source == ReadSource::memory ? memory : source == ReadSource::cache ? cache : owner);
  }
  void add(const ReadSources& other) {
    memory += other.memory;
    cache += other.cache;
    owner += other.owner;
  }
};

}  // namespace quipu
