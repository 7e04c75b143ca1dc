// journal.h: what a caller keeps of its adds so that each counts once although the
// caller itself may die.
//
//   add, with a ticket ──▶ bound(token) ──sent──▶ settled(code)
//                            ▲   │
//                            └───┴─ unbound: that token certainly applied nothing
//
// Whoever has an add's last entry can go on with it: bound, it is submitted again with
// that binding; else anew. Two rules make that exact; ClientCore keeps the first half of
// each, and the shell, which sends only what follows durable entries, the other.
//   1. A token is in the journal before it is sent.
//   2. An add is settled or unbound in the journal before a floor above its number is
//      sent. So the executor still remembers every number that the journal calls bound.
#pragma once

#include <cstdint>

#include "protocol/ids.h"
#include "protocol/state.h"
#include "quipu/status.h"

namespace quipu {

// What an add was sent as. A retry must say the same, and be sent to the same executor.
struct ClientBinding {
  ShardIndex shard = 0;
  Token token{};
};

struct ClientJournalEntry {
  enum class Kind : std::uint8_t { bound, unbound, settled };

  std::uint64_t ticket = 0;  // of the add, as its caller numbered it
  Kind kind{};
  ClientBinding binding{};  // of `bound`
  Code code = Code::ok;     // of `settled`; never one that a retry might still change
};

}  // namespace quipu
