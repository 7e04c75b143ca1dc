// asked.h: what a client asked for, as metrics name it. A node notes it beside an answer. It is
// never sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/instant.h"
#include "quipu/levels.h"

namespace quipu {

enum class Operation : std::uint8_t {
  add_memory,
  add_disk,
  add_quorum,
  reset,
  read_local,
  read_fresh,
  read_strong,
  other,  // sessions, ends, raises, decisions, lists, counts of keys, namespaces
};
inline constexpr std::size_t kOperations = 8;

[[nodiscard]] constexpr const char* name_of(Operation operation) {
  constexpr std::array<const char*, kOperations> kNames{"add_memory",  "add_disk",   "add_quorum",
                                                        "reset",       "read_local", "read_fresh",
                                                        "read_strong", "other"};
  return kNames[static_cast<std::size_t>(operation)];
}

// An add without a level waits for the disk.
[[nodiscard]] constexpr Operation add_at(Ack ack) {
  if (ack == Ack::memory) return Operation::add_memory;
  return ack == Ack::quorum ? Operation::add_quorum : Operation::add_disk;
}
[[nodiscard]] constexpr Operation read_at(ReadLevel level) {
  if (level == ReadLevel::fresh) return Operation::read_fresh;
  return level == ReadLevel::strong ? Operation::read_strong : Operation::read_local;
}

struct Asked {
  Instant since{};  // when the core got it; Instant{}: not noted
  Operation operation = Operation::other;
};

}  // namespace quipu
