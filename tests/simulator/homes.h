// homes.h: clients of a namespace that decides at home, and what must come of it.
//
// Each counter has a limit, and each decision is an add that is refused once the limit is reached:
// what a rate limiter asks. The node that is asked sends it to the counter's home, as it knows it.
// A node that is a counter's home allows no more than the limit, so all homes together allow no
// more than the limit of each.
#pragma once

#include <list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix. The oracle, which knows no decisions, leaves these out.
inline constexpr std::string_view kHomesPrefix = "home:";

class HomeClients {
 public:
  // All must outlive it.
  HomeClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
              const Options& options);

  // Until stop().
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] std::size_t counters() const { return limits_.size(); }
  void on_turn(const SimNode& node);

  // ---- once nothing fails any more, and the owners agree ----
  [[nodiscard]] std::vector<std::string> keys() const;
  // Nothing, or how that counter has passed its limit.
  [[nodiscard]] std::string what_is_passed(std::size_t counter, std::int64_t total) const;

 private:
  struct Limit {
    std::string key;
    std::int64_t limit = 0;
    std::set<std::string> homes{};  // to any node that was asked, at any time meanwhile
    bool at_home = true;            // each of these knew where to decide, all the time
  };

  // A decision that has no answer yet, or never gets one.
  struct Open {
    const SimNode* asked;
    std::uint64_t incarnation;  // of that node
    std::size_t limit;
    std::set<std::string> homes{};  // to that node, since it was asked
    bool at_home = true;            // all the time it knew where to decide
  };
  using Opens = std::list<Open>;

  void define();
  void act();
  void look(Open& open);
  void on_answer(Opens::iterator open, const Done& done);

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  Random random_;
  std::vector<Limit> limits_;
  Opens open_;
  bool defined_ = false;
  bool stopped_ = false;
};

}  // namespace quipu::sim
