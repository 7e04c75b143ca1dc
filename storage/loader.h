// loader.h: reads evicted states back from the store into memory (ShardMap::evict).
//
// It also reports a shard that the store does not hold, so that memory knows it from then
// on. It only reads, so it may run between any two writes.
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
  std::uint64_t number = 0;  // chosen by the asker
  std::vector<ShardKey> shards;
  std::vector<LeafId> leaves;  // all shards of these leaves
};

struct Loaded {
  std::uint64_t number = 0;
  std::vector<std::pair<ShardKey, std::optional<ShardState>>> shards;  // nothing: not held
  std::vector<LeafId> leaves;  // every shard of these leaves is in `shards`
};

// One request, read in small steps, so that writes need not wait for all of it.
class Load {
 public:
  Load(HashKey placement, LoadRequest request);

  // Goes on for about this many reads. corrupt: damage, or a value that no executor wrote.
  // storage_full: the store is closed because the disk is full; call again later.
  [[nodiscard]] Status step(Store& store, std::size_t reads);
  [[nodiscard]] bool finished() const {
    return shard_ == request_.shards.size() && leaf_ == request_.leaves.size();
  }
  // REQUIRES: finished().
  [[nodiscard]] Loaded take() {
    QUIPU_CHECK(finished(), "a load that is taken brings all that was asked for", shard_, leaf_);
    QUIPU_CHECK(loaded_.shards.size() >= request_.shards.size(),
                "each shard that was asked for has an answer", loaded_.shards.size(),
                request_.shards.size());
    return std::move(loaded_);
  }

 private:
  [[nodiscard]] Status read_shard(Store& store, const ShardKey& shard);
  [[nodiscard]] Status read_leaf(Store& store, LeafId leaf);

  HashKey placement_;
  LoadRequest request_;
  Loaded loaded_;
  std::size_t shard_ = 0;  // the next shard to read
  std::size_t leaf_ = 0;   // the next leaf to read, after all shards
};

// A state at rest. Its name borrows `key`.
struct StoredState {
  ShardRef ref;
  ShardState state;
};
[[nodiscard]] Result<StoredState> decode_stored(HashKey placement, std::string_view key,
                                                std::string_view value);

}  // namespace quipu
