// transactions.h: clients that change several counters as one, and what must come of it.
//
// A transaction adds to one witness, sets a plain counter twice, and adds to another witness. The
// sets need records of their own, so the two adds are in two records. The i-th transaction adds
// 4^i, as on the ledger's witness keys: in the end, both witnesses must show it, or neither.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix. The oracle, which knows no sets, leaves these out.
inline constexpr std::string_view kTogetherPrefix = "both:";

class TransactionClients {
 public:
  // All must outlive it.
  TransactionClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
                     const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t counters() const { return 3 * groups_.size(); }

  // ---- once nothing fails any more, and the owners agree ----
  struct Pair {
    std::string first, second;  // the witnesses
  };
  [[nodiscard]] std::vector<Pair> pairs() const;
  // Nothing, or what is wrong with the totals of that pair.
  [[nodiscard]] std::string what_is_torn(std::size_t pair, std::int64_t first,
                                         std::int64_t second) const;

 private:
  struct Transaction {
    bool acked = false;  // at disk
    bool refused = false;
  };
  struct Group {
    std::string name;
    std::vector<Transaction> transactions;
    [[nodiscard]] std::string key(std::string_view which) const {
      return name + ':' + std::string(which);
    }
  };

  void act();

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  Random random_;
  std::vector<Group> groups_;
  bool stopped_ = false;
};

}  // namespace quipu::sim
