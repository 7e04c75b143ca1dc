// executor_choice.h: chooses the member that executes an op without a token.
//
//   an add, a reset, …     this node if it owns the shard, else another owner that is up
//   in a namespace with    the counter's home: the first owner that is up, in the order of the
//   `decide = home`        owner table
//   several counters       an owner of all of them
//
// An owner that is full, or not in sync, is passed over. Two members may disagree about who is up,
// and so choose differently.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cluster/membership/view.h"
#include "storage/executor.h"

namespace quipu {

class ExecutorChoice {
 public:
  // Both must outlive it.
  ExecutorChoice(const View& view, const Executor& executor) : view_(view), executor_(executor) {}

  // Nothing: no owner is up.
  [[nodiscard]] std::optional<MemberIndex> of(std::string_view key, Partition partition) const;
  // For one op about several counters; `first` is one of them. If some are decided about at
  // their homes, this is the home of the first such counter whose home is up: then all members send
  // the same op to one node. Nothing: that node, or every node that is up, lacks one of the
  // counters.
  [[nodiscard]] std::optional<MemberIndex> of_several(std::string_view first,
                                                      std::span<const std::string_view> keys) const;

 private:
  [[nodiscard]] Partition partition_of(std::string_view key) const;
  [[nodiscard]] std::optional<MemberIndex> home_of(std::string_view key, Partition partition) const;
  [[nodiscard]] bool keeps(MemberIndex member, std::span<const std::string_view> keys) const;

  const View& view_;
  const Executor& executor_;
};

}  // namespace quipu
