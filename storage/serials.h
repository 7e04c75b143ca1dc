// serials.h: the serials that one start of a store issues to sessions.
//
// The n-th serial is a keyed permutation of n (a Feistel network; Luby and Rackoff 1988), from 1 to
// 2^62. So a client cannot guess the serials of others and use up their numbers, and the key shows
// which serials this start has issued. One thread at a time.
//
// Starts have keys of their own, drawn at random. So a disk that came back from an old copy does
// not reuse the serials of its other life.
#pragma once

#include <cstdint>

#include "protocol/ids.h"
#include "protocol/keyed_hash.h"

namespace quipu {

class Serials {
 public:
  explicit Serials(std::uint64_t key) : key_(HashKey{key}) {}

  [[nodiscard]] Serial issue();
  [[nodiscard]] bool issued(Serial serial) const;

 private:
  struct Halves {  // 31 bits each
    std::uint64_t left, right;
  };
  [[nodiscard]] std::uint64_t mix(std::uint64_t half, int round) const;

  const HashKey key_;
  std::uint64_t issued_ = 0;  // how many
};

}  // namespace quipu
