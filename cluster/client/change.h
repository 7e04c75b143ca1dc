// change.h: an add, an expire, or a reset of one shard, on its way. It is in exactly one list,
// and the list shows how far it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "cluster/client/effects.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"

namespace quipu {

struct ClientChange {
  std::uint64_t id = 0;
  CallId call{};
  std::uint64_t ticket = 0;  // for the journal
  OpKind kind = OpKind::add;
  std::string key;
  std::optional<ShardIndex> only;   // for a reset or an expire; an add goes to any shard,
  Affinity affinity{};              // or to this affinity's
  std::int64_t amount = 0;          // as in Op
  std::chrono::milliseconds ttl{};  // for an add: as Op::ttl_ms
  std::int64_t at_ms = 0;           // for an add or a reset: as in Op
  Ack ack = Ack::disk;
  Instant deadline{};

  // Bound from its first sending on: `sends` > 0 exactly while there is a token.
  ShardIndex shard = 0;
  Token token;
  std::size_t sends = 0;
  bool doubtful = false;  // a link broke, or in_doubt was answered, since it was bound

  // Why it waits, for the final answer to the caller.
  Code reason = Code::ok;
  std::string detail;
  Instant wake{};
  std::list<ClientChange>* list = nullptr;
};

using ChangeList = std::list<ClientChange>;

}  // namespace quipu
