// prefix_sync.h: tells the members under which prefixes counters with an end were held here
// (storage/prefixes.h): all when a link comes up, then what is added.
#pragma once

#include <vector>

#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"

namespace quipu {

class PrefixSync {
 public:
  // All must outlive it.
  PrefixSync(const View& view, const Executor& executor, Outbound& out)
      : executor_(executor), out_(out), told_(view.size()) {}

  void on_link_up(MemberIndex member) {
    told_[member] = 0;
    tell(member);
  }
  void tell(MemberIndex member) {
    const auto added = executor_.prefixes().added().subspan(told_[member]);
    if (added.empty()) return;
    out_.send(member, Prefixes{{added.begin(), added.end()}});
    told_[member] += added.size();
  }

 private:
  const Executor& executor_;
  Outbound& out_;
  std::vector<std::size_t> told_;  // by member: how many
};

}  // namespace quipu
