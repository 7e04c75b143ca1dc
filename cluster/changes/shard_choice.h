// shard_choice.h: chooses the shard for an add that names none.
//
//   local   no affinity: a shard that this node owns, so that the add needs no hop
//   hash    with an affinity: the same shard through any node, with any owner
//
// Invariant: a chosen shard may be used. The number of usable shards never shrinks, so a
// node that knows a lower number, when it chooses or later, does no harm.
#pragma once

#include <optional>

#include "cluster/reads/collector.h"
#include "cluster/reads/reads.h"
#include "protocol/client_messages.h"
#include "protocol/random.h"

namespace quipu {

class ShardChoice {
 public:
  // All must outlive it.
  ShardChoice(const View& view, const Executor& executor, Reads& reads, Random random)
      : view_(view), executor_(executor), reads_(reads), random_(random) {}

  // `first`: the place of the counter's shard 0. Nothing: an owner of it must say how many
  // shards there are (Reads::ask_usable).
  // REQUIRES: shard 0 is resident
  [[nodiscard]] std::optional<ShardIndex> choose(Instant now, const Op& op, const Placement& first);
  // The answer came, or there was none: then what is known here must be enough.
  [[nodiscard]] ShardIndex choose_as_told(const Op& op, const Collector::Finished& finished) const;

 private:
  [[nodiscard]] ShardIndex choose_local(std::string_view key, const Placement& first);

  const View& view_;
  const Executor& executor_;
  Reads& reads_;
  Random random_;
};

}  // namespace quipu
