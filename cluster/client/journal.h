// journal.h: what a caller stores about its adds so that each counts once even if the caller
// dies.
//
//   add, with a ticket ──▶ bound(token) ──sent──▶ settled(code)
//                            ▲   │
//                            └───┴─ unbound: that token certainly applied nothing, and never will
//
// With an add's last entry, another process can go on with it. If the entry is `bound`, it
// submits the add with that binding, else anew. Two rules make that exact. ClientCore
// guarantees the order; the shell sends only what follows durable entries.
//   1. A token is in the journal before it is sent.
//   2. An add is settled or unbound in the journal before a floor above its number is sent.
//      So the executor still remembers every number that is bound in the journal.
#pragma once

#include <cstdint>

#include "protocol/ids.h"
#include "protocol/state.h"
#include "quipu/status.h"

namespace quipu {

// How an add was sent. A retry must have the same content and go to the same executor.
struct ClientBinding {
  ShardIndex shard = 0;
  Token token{};
};

struct ClientJournalEntry {
  enum class Kind : std::uint8_t { bound, unbound, settled };

  std::uint64_t ticket = 0;  // the add's number, from its caller
  Kind kind{};
  ClientBinding binding{};  // for `bound`
  Code code = Code::ok;     // for `settled`; never one that a retry might still change
};

}  // namespace quipu
