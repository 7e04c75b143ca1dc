#include "storage/loader.h"

#include <algorithm>

#include "protocol/check.h"
#include "protocol/state_codec.h"
#include "storage/entry.h"
#include "storage/kinds/parts.h"
#include "storage/stored_keys.h"

namespace quipu {

Result<StoredState> decode_stored(HashKey placement, std::string_view key, std::string_view value) {
  const auto name = stored::parse_shard(key);
  // A misplaced state would exist beside the one in the right place.
  if (!name || key != stored::shard({placement, name->ref}, name->ref))
    return Status{Code::corrupt, "a stored state has an impossible name"};
  Result<ShardState> state = decode_shard_state(key, value);
  if (!state.ok()) return state.status();
  if (state->cells.size() > kMaxCells)
    return Status{Code::corrupt, "a stored state has too many cells"};
  const bool fits_name = is_sum(name->ref.shard) ? state->parts.empty()
                                                 : state->cells.empty() && state->shard_count == 1;
  if (!fits_name || !is_sound(as_entry(name->ref, *state)))
    return Status{Code::corrupt, "a stored state is none of its kind"};
  if (*state == ShardState{}) return Status{Code::corrupt, "a stored state holds nothing"};
  return StoredState{name->ref, std::move(*state)};
}

Load::Load(HashKey placement, LoadRequest request)
    : placement_(placement), request_(std::move(request)) {
  loaded_.number = request_.number;
  loaded_.leaves = request_.leaves;
}

Status Load::step(Store& store, std::size_t reads) {
  QUIPU_CHECK(!finished() && reads > 0, "each step has work to do", shard_, leaf_, reads);
  const std::size_t end = std::min(request_.shards.size(), shard_ + reads);
  for (; shard_ < end; ++shard_) {
    if (Status read = read_shard(store, request_.shards[shard_]); !read.ok()) return read;
  }
  if (shard_ < request_.shards.size()) return {};
  // A leaf is a seek and a few neighbours: about the cost of a few reads.
  constexpr std::size_t kReadsPerLeaf = 8;
  const std::size_t last = std::min(request_.leaves.size(), leaf_ + reads / kReadsPerLeaf + 1);
  for (; leaf_ < last; ++leaf_) {
    if (Status read = read_leaf(store, request_.leaves[leaf_]); !read.ok()) return read;
  }
  return {};
}

Status Load::read_shard(Store& store, const ShardKey& shard) {
  const std::string key = stored::shard({placement_, shard}, shard);
  const Result<std::optional<std::string>> value = store.read(key);
  if (!value.ok()) return value.status();
  if (!*value) {
    loaded_.shards.emplace_back(shard, std::nullopt);
    return {};
  }
  Result<StoredState> found = decode_stored(placement_, key, **value);
  if (!found.ok()) return found.status();
  loaded_.shards.emplace_back(shard, std::move(found->state));
  return {};
}

Status Load::read_leaf(Store& store, LeafId leaf) {
  const stored::KeyRange range = stored::leaf(leaf);
  return store.scan(range.from, range.to, [&](std::string_view key, std::string_view value) {
    Result<StoredState> found = decode_stored(placement_, key, value);
    if (!found.ok()) return found.status();
    loaded_.shards.emplace_back(ShardKey{std::string(found->ref.key), found->ref.shard},
                                std::move(found->state));
    return Status{};
  });
}

}  // namespace quipu
