#include "protocol/affinity.h"

#include <array>

#include "protocol/check.h"

namespace quipu {

// Two names with one number only share a shard. So this needs no key, and every client that
// knows the protocol can compute it.
Affinity affinity_of(std::string_view name) {
  if (name.empty()) return Affinity{};
  const std::uint64_t hash = hash64(HashKey{0}, name);
  return Affinity{hash == 0 ? 1 : hash};
}

ShardIndex shard_for(Affinity affinity, const Placement& first, ShardIndex usable) {
  QUIPU_CHECK(usable > 0, "a counter has a shard that adds may use");
  if (usable == 1) return 0;
  std::array<char, sizeof(Affinity)> bytes;  // little-endian, on any machine
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(raw(affinity) >> (8 * i));
  const std::string_view text(bytes.data(), bytes.size());
  return static_cast<ShardIndex>(hash64(HashKey{first.hash}, text) % usable);
}

}  // namespace quipu
