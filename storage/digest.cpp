#include "storage/digest.h"

#include <array>
#include <cstring>
#include <memory_resource>
#include <string>

#include "protocol/check.h"
#include "storage/life.h"

namespace quipu {
namespace {

template <class T>
void append(std::pmr::string& bytes, T value) {
  char raw_bytes[sizeof value];
  std::memcpy(raw_bytes, &value, sizeof value);
  bytes.append(raw_bytes, sizeof value);
}

}  // namespace

// A counter that was only raised or cleared has a state, too, and is part of the digest. One that
// is spent is not: owners forget it at different times.
Hash128 hash_state(HashKey key, const ShardRef& ref, const ShardState& state) {
  if (is_spent(state)) return {};
  // On the stack for almost every shard: this runs once per change after a checkpoint.
  std::array<std::byte, 1024> stack;
  std::pmr::monotonic_buffer_resource memory(stack.data(), stack.size());
  std::pmr::string bytes(&memory);
  bytes.reserve(ref.key.size() + 8 + state.cells.size() * 40);
  for (const Part& part : state.parts) {
    append(bytes, part.born);
    append(bytes, part.body.size());
    bytes.append(part.body);
  }
  append(bytes, ref.shard);
  append(bytes, state.shard_count);
  append(bytes, state.usable_shards);
  for (const Cell& cell : state.cells) {
    append(bytes, cell.actor);
    append(bytes, cell.commit);
    append(bytes, cell.sum);
    append(bytes, cell.cleared_commit);
    append(bytes, cell.cleared_sum);
  }
  if (!is_plain(state)) {
    for (const Cell& cell : state.cells) append(bytes, cell.born);
    append(bytes, state.life.ended);
    append(bytes, state.life.stamp);
    append(bytes, state.life.at);
    append(bytes, state.life.latest);
    append(bytes, state.life.once);
  }
  bytes.append(ref.key);  // last, so that everything before it has a fixed place
  return hash128(key, bytes);
}

void Digest::add(std::uint8_t leaf, const Hash128& hash) {
  if (leaves_) (*leaves_)[leaf] += hash;
  sum_ += hash;
}

void Digest::remove(std::uint8_t leaf, const Hash128& hash) {
  if (leaves_) (*leaves_)[leaf] -= hash;
  sum_ -= hash;
}

void Digest::keep(const Leaves& leaves) {
  QUIPU_CHECK(leaves_ == nullptr, "the leaves of a digest begin to be kept once");
  Hash128 sum;
  for (const Hash128& leaf : leaves) sum += leaf;
  QUIPU_CHECK(sum == sum_, "the leaves of a digest add up to it", sum.low, sum_.low);
  leaves_ = std::make_unique<Leaves>(leaves);
}

}  // namespace quipu
