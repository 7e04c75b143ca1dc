// listing.h: answers which counters exist, and how many.
#pragma once

#include "cluster/outbound.h"
#include "cluster/view.h"

namespace quipu {

class Listing {
 public:
  // All must outlive it.
  Listing(const View& view, const Executor& executor, Outbound& out)
      : view_(view), executor_(executor), out_(out) {}

  void on_list(ClientId client, const List& list);
  void on_size(ClientId client, const Size& size);

  // How many exist in the partitions that this node owns.
  [[nodiscard]] std::uint64_t counters_here() const;

 private:
  [[nodiscard]] Keys held(const List& list) const;

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
};

}  // namespace quipu
