// quorum_waits.h: adds and resets that are durable here and wait until a majority
// of their shard's owners has them too.
//
// An owner's ack counts if it is for a state at least as new as the change, if the owner has
// the same config and pins, and if its copy is in sync. This node counts itself only if it is
// an owner, by the same rules.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/gates/commit_gate.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"
#include "cluster/replication/placed_shard.h"
#include "protocol/instant.h"
#include "storage/number_table.h"

namespace quipu {

class QuorumWaits {
 public:
  QuorumWaits(const View& view, Outbound& out)
      : view_(view), out_(out), names_(view.first_number()) {}

  void wait(const PlacedRef& shard, Commit commit, const Origin& origin, Done done,
            Instant deadline);

  // `owner` has the shard's state as of `commit`, durably.
  void on_held(const PlacedRef& shard, MemberIndex owner, Commit commit);
  // This node's own copies up to `commit` are durable.
  void on_durable(Commit commit);

  // Earlier acks do not count any more. Returns the shards to send again, in the order of their
  // names.
  [[nodiscard]] std::vector<ShardKey> restart();
  void on_tick(Instant now);

  [[nodiscard]] bool waits_for(const PlacedRef& shard) const {
    return size_ > 0 && find(shard).has_value();
  }
  // Prefetches the memory that the next call with the shard will use.
  void prefetch(const Placement& placement) const { names_.prefetch(placement.hash); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Wait {
    Commit commit{};
    Origin origin;
    Done done;
    Instant deadline{};
  };
  // Slots are recycled to avoid allocation.
  struct Shard {
    explicit Shard(const PlacedRef& of) : name(of) {}
    PlacedShard name;
    std::vector<Wait> waits;   // by commit
    std::size_t answered = 0;  // the first waits, which are answered
    // By position in the owner list: the commit at which it has the state. Empty is less than any
    // commit, also than 0: retries use 0 for changes that an earlier start applied.
    std::array<std::optional<Commit>, kMaxReplication> held{};
    Commit own{};  // the newest commit that is in own_
    [[nodiscard]] std::span<Wait> waiting() { return std::span(waits).subspan(answered); }
  };
  using Number = std::uint32_t;  // in shards_

  [[nodiscard]] std::optional<Number> find(const PlacedRef& shard) const {
    return names_.find(shard.placement.hash,
                       [&](Number one) { return PlacedRef(shards_[one].name) == shard; });
  }
  [[nodiscard]] Number find_or_add(const PlacedRef& shard);
  void forget_answered(Number number);
  void release(Number number);  // no operation waits for it any more
  // The shards with a wait for which `wanted` is true, by name.
  template <class Wanted>
  [[nodiscard]] std::vector<Number> by_name(Wanted wanted);
  void note(Shard& shard, MemberIndex owner, Commit commit);
  [[nodiscard]] bool met(const Shard& shard, Commit commit) const;
  void hold(Number number, MemberIndex owner, Commit commit);

  const View& view_;
  Outbound& out_;
  NumberTable names_;
  std::deque<Shard> shards_;
  std::vector<Number> free_;  // free slots; a heap, the lowest first
  std::size_t size_ = 0;
  Commit durable_{};
  // Shards of which this node's copy is not durable yet. A number may be reused for another
  // shard by then. Its copy is then as durable, or there is none.
  CommitGate<Number> own_;
};

}  // namespace quipu
