// key_counts.h: answers key counts, across owners.
//
//   each partition ──▶ one owner: this node, or a live one ──CountKeysPart──▶ its counters
//                                                          ◀──KeyCountPart─┘    ──▶ the sum
//
// Rule: a partition is counted exactly once, or the answer is `unavailable` and has no number.
// An owner counts only partitions where its copy is in sync, and says which these are. The
// others go to other owners. So do all partitions of an owner whose link is lost, or which is
// silent for an interval while another owner is there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cluster/gates/node_settings.h"
#include "cluster/gates/outbound.h"
#include "cluster/membership/view.h"

namespace quipu {

class KeyCounts {
 public:
  // All must outlive it.
  KeyCounts(const View& view, const Executor& executor, Outbound& out, const NodeSettings& settings)
      : view_(view),
        executor_(executor),
        out_(out),
        settings_(settings),
        next_number_(view.first_number()) {}

  void on_count_keys(Instant now, ClientId client, const CountKeys& size);
  // A peer's question about this node's memory.
  void on_count_keys_part(MemberIndex from, const CountKeysPart& ask);
  void on_key_count_part(MemberIndex from, const KeyCountPart& answer);
  void on_link_lost(MemberIndex member);
  void on_tick(Instant now);

  [[nodiscard]] std::size_t size() const { return sums_.size(); }
  // The key count of the partitions that this node owns, in sync or not.
  [[nodiscard]] std::uint64_t counters_here() const;

 private:
  struct Sum {
    ClientId client{};
    std::uint64_t id = 0;
    Instant deadline{};
    std::uint64_t counters = 0;  // the key count so far
    std::set<MemberIndex> vain;  // could not answer for everything
    std::size_t questions = 0;
  };
  using Sums = std::map<std::uint64_t, Sum>;
  struct Question {
    std::uint64_t sum = 0;
    MemberIndex member = 0;
    Partitions partitions;
    bool ticked = false;  // an interval has ended since
  };
  using Questions = std::map<std::uint64_t, Question>;
  using Shares = std::map<MemberIndex, Partitions>;

  [[nodiscard]] std::optional<MemberIndex> owner_for(const Sum& sum, Partition partition) const;
  [[nodiscard]] std::uint64_t counters_in(const Partitions& partitions) const;
  // Nothing if one partition has no owner to ask. `missing` is the first such partition.
  [[nodiscard]] std::optional<Shares> share_out(const Sum& sum, const Partitions& partitions,
                                                Partition& missing) const;
  void ask(std::uint64_t number, const Partitions& partitions);
  void ask(std::uint64_t number, const Shares& shares);
  Question take(Questions::iterator at);
  void finish(std::uint64_t number, Code code, std::string why);

  const View& view_;
  const Executor& executor_;
  Outbound& out_;
  const NodeSettings& settings_;
  Sums sums_;
  Questions questions_;
  std::uint64_t next_number_;
};

}  // namespace quipu
