// windows.h: clients whose counters count in windows of time, and what must come of it.
//
// Their namespace has three tiers. The i-th add of a counter adds 4^i, as on the ledger's witness
// keys: each count shows which adds are in it. Some adds say that they happened a little earlier.
// The checks know when an add was asked and answered, and how far a trusted clock can be from the
// true time.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/simulator/actor_watch.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"
#include "tests/simulator/options.h"

namespace quipu::sim {

// No other counter has this prefix. The oracle, which does not forget windows, leaves these out.
inline constexpr std::string_view kWindowsPrefix = "time:";

class WindowsClients {
 public:
  // All must outlive it.
  WindowsClients(const Shared& shared, const std::vector<SimNode*>& nodes, const Ledger& ledger,
                 const Options& options);

  // Until stop(). It begins with the definition of their namespace.
  void work();
  void stop() { stopped_ = true; }
  [[nodiscard]] bool defined() const { return defined_; }
  [[nodiscard]] std::size_t counters() const { return keys_.size(); }
  // Requests whose node has not died since.
  [[nodiscard]] std::size_t waiting() const;

  // ---- once nothing fails any more ----
  // Asks each node for all of each counter at `strong`, after one more add.
  void ask_all();
  // From then on no window is kept, whatever trusted clock one asks.
  [[nodiscard]] Instant all_gone() const;
  // Nothing, or a node that holds a window, in memory or at rest.
  [[nodiscard]] std::string who_holds() const;
  // Nothing, or a node that gave up the actor under which it counted.
  [[nodiscard]] std::string who_gave_up() { return actors_.who_gave_up(); }

 private:
  struct Add {
    Wall begun{}, latest{};  // true time: it was carried out between these
    bool dated = false;      // then it says when: both are that
    bool refused = false;
    bool by_tiers = false;   // every node had the definition at rest when it was asked
    Instant acked = kNever;  // at quorum
  };
  struct Key {
    std::string name;
    std::vector<Add> adds;
  };

  void define();
  [[nodiscard]] bool all_hold_at_rest() const;
  void act();
  void add(std::size_t key, SimNode& node, Ack ack, std::function<void()> then = nullptr);
  void ask(std::size_t key, SimNode& node, ReadLevel level, std::chrono::seconds step,
           bool must_answer);
  void check(std::size_t key, const SimNode& node, ReadLevel level, const RangeReply& reply,
             Instant begun);
  void check_step(std::size_t key, const SimNode& node, const RangeReply& reply, std::size_t step,
                  std::vector<std::size_t>& times);
  [[nodiscard]] bool may_be_in(const Add& add, Wall begin, Wall end) const;
  [[nodiscard]] bool kept_at(const Add& add, std::chrono::seconds tier, Wall when) const;
  [[nodiscard]] Wall true_wall() const { return nodes_[0]->true_wall(); }
  [[nodiscard]] bool nothing_lost() const;
  void fail(Invariant invariant, std::string what) const {
    shared_.trace.fail(shared_.time.now(), invariant, std::move(what));
  }

  Shared shared_;
  const std::vector<SimNode*>& nodes_;
  const Ledger& ledger_;
  const Options& options_;
  Random random_;
  NamespacePolicy policy_;
  Wall::duration off_{};  // the most that a trusted clock is off
  ActorWatch actors_;
  std::deque<Key> keys_;
  using Step = std::tuple<std::size_t, std::chrono::seconds, Wall>;  // of a counter
  struct Settled {
    std::int64_t count = 0;
    std::string by;
  };
  std::map<Step, Settled> settled_;
  bool defined_ = false;
  bool at_rest_ = false;  // so that no crash undoes it
  bool stopped_ = false;
};

}  // namespace quipu::sim
