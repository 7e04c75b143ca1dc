// executor_choice.h: chooses the member that executes an op without a token.
//
//   an add, a reset, …     this node if it owns the shard, else another owner that is up
//   in a namespace with    the counter's home: the first owner that is up, in the order of the
//   `decide = home`        owner table
//   a key that has a       the same: only the home is sure to have what was just counted
//   counter with shares    (storage/kinds/kind.h)
//   several counters       an owner of all of them
//
// An owner that is full, or not in sync, is passed over. Two members may disagree about who is up,
// and so choose differently.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cluster/membership/view.h"
#include "protocol/instant.h"
#include "storage/executor.h"

namespace quipu {

class ExecutorChoice {
 public:
  // Both must outlive it.
  ExecutorChoice(const View& view, const Executor& executor) : view_(view), executor_(executor) {}

  // Nothing: no owner is up.
  [[nodiscard]] std::optional<MemberIndex> of(const ShardRef& shard, Partition partition) const;
  // A change of such a kind goes there now. This node hears of it after a gossip interval or two.
  void note_home(const Placement& counter) {
    lately_[counter.hash % lately_.size()] = {counter.hash, executor_.now() + kUnheard};
  }
  // For one op about several counters; `first` is one of them. If some are decided about at
  // their homes, this is the home of the first such counter whose home is up: then all members send
  // the same op to one node. Nothing: that node, or every node that is up, lacks one of the
  // counters.
  [[nodiscard]] std::optional<MemberIndex> of_several(std::string_view first,
                                                      std::span<const std::string_view> keys) const;

 private:
  [[nodiscard]] Partition partition_of(std::string_view key) const;
  [[nodiscard]] std::optional<MemberIndex> home_of(const ShardRef& shard,
                                                   Partition partition) const;
  [[nodiscard]] bool has_shares(std::string_view key) const;
  [[nodiscard]] bool keeps(MemberIndex member, std::span<const std::string_view> keys) const;

  // Longer than it takes to hear of a change that was sent home.
  static constexpr Duration kUnheard = std::chrono::seconds(1);
  struct SentHome {
    std::uint64_t hash = 0;  // of the counter's first shard
    Instant until{};
  };

  const View& view_;
  const Executor& executor_;
  std::array<SentHome, 1024> lately_{};  // of each slot the last
};

}  // namespace quipu
