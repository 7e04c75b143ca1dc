// change.h: a change of one shard on its way: an add, an apply, an expire or a reset. It is in
// exactly one list, and the list shows how far it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "cluster/client/effects.h"
#include "protocol/client_messages.h"
#include "protocol/instant.h"
#include "protocol/item_words.h"

namespace quipu {

struct ClientChange {
  std::uint64_t id = 0;
  CallId call{};
  std::uint64_t ticket = 0;  // for the journal
  OpKind kind = OpKind::add;
  std::string key;
  // For an apply. Without words, these are made from the items, once the cluster's placement key is
  // known. Then the items are dropped.
  std::string words;
  std::vector<Item> items;
  std::optional<ShardIndex> only;   // for all but an add, which goes to any shard,
  Affinity affinity{};              // or to this affinity's
  std::int64_t amount = 0;          // as in Op
  std::chrono::milliseconds ttl{};  // for an add or an apply: as Op::ttl_ms
  std::int64_t at_ms = 0;           // for all but an expire: as in Op
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
