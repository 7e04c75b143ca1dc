// loader.h: reads what is in the store alone back into memory (ShardMap::evict).
//
// Of a shard that the store does not hold, that too is told: from then on memory
// knows. Reads only, so it may stand between any two writes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/check.h"
#include "protocol/keyed_hash.h"
#include "protocol/state.h"
#include "storage/store.h"

namespace quipu {

struct LoadRequest {
  std::uint64_t number = 0;  // that the asker chose
  std::vector<ShardKey> shards;
  std::vector<LeafId> leaves;  // whole
};

struct Loaded {
  std::uint64_t number = 0;
  std::vector<std::pair<ShardKey, std::optional<ShardState>>> shards;  // nothing: not held
  std::vector<LeafId> leaves;  // whose shards are all among them
};

// One request, a few reads at a time, so that writes need not wait for all of it.
class Load {
 public:
  Load(HashKey placement, LoadRequest request);

  // Goes on for about so many reads. corrupt: damage, or a value that no executor wrote;
  // storage_full: the store is closed for want of room, so the same again later.
  [[nodiscard]] Status step(Store& store, std::size_t reads);
  [[nodiscard]] bool finished() const {
    return shard_ == request_.shards.size() && leaf_ == request_.leaves.size();
  }
  // REQUIRES: finished().
  [[nodiscard]] Loaded take() {
    QUIPU_CHECK(finished(), "a load that is taken brings all that was asked for", shard_, leaf_);
    return std::move(loaded_);
  }

 private:
  [[nodiscard]] Status read_shard(Store& store, const ShardKey& shard);
  [[nodiscard]] Status read_leaf(Store& store, LeafId leaf);

  HashKey placement_;
  LoadRequest request_;
  Loaded loaded_;
  std::size_t shard_ = 0;  // the next
  std::size_t leaf_ = 0;   // the next, behind all shards
};

// A state as it stands in the store, with its name, which borrows `key`.
struct StoredState {
  ShardRef ref;
  ShardState state;
};
[[nodiscard]] Result<StoredState> decode_stored(HashKey placement, std::string_view key,
                                                std::string_view value);

}  // namespace quipu
