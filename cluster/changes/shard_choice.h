// shard_choice.h: which shard of its counter an add goes to, if it names none.
//
//   local   no affinity: one that this node owns, so that the add needs no hop
//   hash    of the affinity: the same one through any node, whoever owns it
//
// Invariant: a shard that was chosen may be used. How many may be never shrinks, so
// whoever knew of fewer when it chose, or knows of fewer later, does no harm.
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

  // `first`: the place of the counter's shard 0. Nothing: an owner of that has to be
  // asked how many shards there are (Reads::ask_usable).
  // REQUIRES: shard 0 is resident
  [[nodiscard]] std::optional<ShardIndex> choose(Instant now, const Op& op, const Placement& first);
  // The answer came, or nobody answered: then what is known here has to do.
  [[nodiscard]] ShardIndex choose_as_told(const Op& op, const Collector::Finished& finished) const;

 private:
  [[nodiscard]] ShardIndex choose_local(std::string_view key, const Placement& first);

  const View& view_;
  const Executor& executor_;
  Reads& reads_;
  Random random_;
};

}  // namespace quipu
