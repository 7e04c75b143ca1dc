// elements.h: clients that add elements to counters of the kind `distinct`, and what must come of
// it.
//
// An estimate would hide a lost register. So these clients ask for bodies and compare registers.
// Some add to some counters by a merge of a body of a lower precision. The counter's own body is
// then folded to that.
//
// The union of two bodies is their join, so a body has at least the registers of another if a join
// with that changes nothing.
//
//   all that was acknowledged and must have survived  ≤  body  ≤  all that was ever sent
//
// A strong query has all that was acknowledged at quorum before it began, and all that an earlier
// one had. A local query that says complete has all that was acknowledged at disk before its age
// began, and whose disks live. When an add is acknowledged at quorum, a majority of the owners has
// its registers. After healing, all owners have the same body.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/shard_number.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix. The oracle, which knows sums, leaves these out.
inline constexpr std::string_view kElementsPrefix = "seen:";

inline constexpr ShardIndex kDistinctShard = shard_of(Kind::distinct);

// The body of these elements alone. 0: of the usual precision.
[[nodiscard]] std::string body_of(std::string_view words, unsigned precision = 0);
void join_bodies(std::string& into, std::string_view from);
// Whether `body` has all registers of `other`.
[[nodiscard]] bool covers(const std::string& body, const std::string& other);

class ElementClients {
 public:
  // All must outlive it.
  ElementClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
                 const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t counters() const { return counters_.size(); }
  // Oldest first.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

  // ---- once nothing fails any more, and the owners agree ----
  // Asks a node for each body, strongly. Then waiting() goes to 0.
  void ask_all();
  // Nothing, or which counter lacks something, or has too much, or differs between owners.
  [[nodiscard]] std::string what_is_wrong() const;

 private:
  // Ops with the same elements are alike, so an op is a range of numbers.
  struct Added {
    std::uint64_t first = 0, count = 0;
    bool coarse = false;  // of the lower precision
    Instant begun{};
    Instant acked = kNever;
    bool at_quorum = false;
  };
  struct Counter {
    std::string key;
    bool folds = false;      // gets bodies of the lower precision, too
    std::uint64_t next = 0;  // elements below it were sent
    std::list<Added> added{};
    std::string shown{};  // by strong queries that have ended
    std::string in_the_end{};
    bool answered = false;
    bool refused = false;  // for want of room
  };

  void add(Counter& counter);
  void ask(Counter& counter, bool last);
  void on_shown(Counter& counter, Instant begun, const std::string& before, const QueryReply& reply,
                bool last);
  void ask_locally(const Counter& counter);
  void on_shown_locally(const Counter& counter, const SimNode& node, const QueryReply& reply);
  [[nodiscard]] std::string body_of(const Counter& counter, Instant acked_before,
                                    bool at_quorum) const;
  // That was acknowledged at quorum. Nothing, or who has not got it, though it must.
  [[nodiscard]] std::string who_lacks(const Counter& counter, const Added& added) const;
  [[nodiscard]] bool survives(const Added& added) const;

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  Random random_;
  Random local_random_;  // of local queries
  Random folds_;
  const bool few_;  // elements, so that bodies stay small
  std::list<Counter> counters_;
  std::size_t waiting_ = 0;
  bool stopped_ = false;
};

}  // namespace quipu::sim
