// quorum_waits.h: adds and resets that are durable here and wait until a majority
// of their shard's owners has them too.
//
// An owner's ack counts if it is for a state at least as new as the change, if
// the owner goes by the same config and pins, and if its copy counts. This node
// counts itself only if it is an owner, and by the same rules.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/outbound.h"
#include "cluster/placed_shard.h"
#include "cluster/view.h"
#include "protocol/instant.h"

namespace quipu {

class QuorumWaits {
 public:
  QuorumWaits(const View& view, Outbound& out)
      : view_(view), out_(out), shards_(0, PlacedHash{view.first_number()}) {}

  void wait(const PlacedRef& shard, Commit commit, const Origin& origin, Done done,
            Instant deadline);

  // `owner` has the shard's state as of `commit`, durably.
  void on_held(const PlacedRef& shard, MemberIndex owner, Commit commit);
  // This node's own copies up to `commit` are durable.
  void on_durable(Commit commit);

  // No ack that came before counts any more. Returns the shards to be sent again, in the
  // order of their names.
  [[nodiscard]] std::vector<ShardKey> restart();
  void on_tick(Instant now);

  [[nodiscard]] bool waits_for(const PlacedRef& shard) const {
    return !shards_.empty() && shards_.contains(shard);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Wait {
    Commit commit{};
    Origin origin;
    Done done;
    Instant deadline{};
  };
  struct Shard {
    std::deque<Wait> waits;  // by commit
    // By position in the owner list: as of when it has the state. Nothing is less
    // than any commit, also than 0, by which a retry names what an earlier start applied.
    std::array<std::optional<Commit>, kMaxReplication> held;
    Commit own{};  // the newest commit that is in own_
  };
  using Shards = std::unordered_map<PlacedShard, Shard, PlacedHash, std::equal_to<>>;
  using ShardAt = Shards::iterator;

  // The shards of which `wanted` holds for some wait, by name.
  template <class Wanted>
  [[nodiscard]] std::vector<ShardAt> by_name(Wanted wanted);
  void hold(ShardAt at, MemberIndex owner, Commit commit);

  const View& view_;
  Outbound& out_;
  Shards shards_;
  std::size_t size_ = 0;
  Commit durable_{};
  std::deque<std::pair<Commit, PlacedShard>> own_;  // not durable here yet, ascending
};

}  // namespace quipu
