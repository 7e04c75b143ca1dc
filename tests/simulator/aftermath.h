// aftermath.h: what must hold in a world once nothing fails any more.
//
//   healed ─▶ all are whole, and agree ─▶ totals and lists are right ─▶ it works
//          ─▶ local reads are young
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/world.h"

namespace quipu::sim {

class Aftermath {
 public:
  // Nothing fails in `world` from now on.
  explicit Aftermath(World& world)
      : world_(world),
        trace_(world.trace_),
        time_(world.time_),
        config_(world.config_),
        ledger_(world.ledger_),
        nodes_(world.nodes_),
        clients_(world.clients_),
        wire_clients_(world.wire_clients_),
        nemesis_(*world.nemesis_) {}

  void check();

 private:
  // Whether a counter exists, as a read of it says in the end.
  enum class Existence { none, possible, certain };
  static constexpr Duration kStep = World::kStep;

  [[nodiscard]] std::string who_differs() const;
  [[nodiscard]] std::string who_keeps_what_it_gave_up() const;
  [[nodiscard]] std::string who_is_crowded() const;
  [[nodiscard]] std::string who_has_another_actor() const;
  void check_converged();
  void check_namespaces();
  void check_transactions();
  void check_homes();
  void check_elements();
  void check_items();
  void check_windows();
  void check_ends();
  void check_absence();
  void check_strong_end(SimNode& slow, SimNode& fast, const std::string& name);
  void check_strong_ends();
  [[nodiscard]] std::optional<std::int64_t> strong_total(SimNode& node, const std::string& key);
  void check_new_life();
  [[nodiscard]] std::vector<std::string> keys_beside(const std::string& key) const;
  [[nodiscard]] std::string key_of(const SimNode& owner, std::string_view name) const;
  [[nodiscard]] bool change(SimNode& node, Op op);
  void check_totals();
  template <class Told, class Question>
  std::optional<Told> hear(SimNode& node, const Question& question);
  [[nodiscard]] bool in_one_leaf(const std::vector<std::string>& keys) const;
  void check_lists();
  void check_clocks();
  void check_it_works();
  void check_plain_adds();
  void check_staleness();
  void check_ages();
  void check_staleness_of_elements();
  void check_big_sums();
  void fail(Invariant invariant, std::string what) { world_.fail(invariant, std::move(what)); }

  World& world_;
  Trace& trace_;
  Timeline& time_;
  const ClusterConfig& config_;
  Ledger& ledger_;
  const std::vector<SimNode*>& nodes_;
  const std::vector<std::unique_ptr<LibraryClient>>& clients_;
  const std::vector<std::unique_ptr<WireClient>>& wire_clients_;
  Nemesis& nemesis_;
  std::map<std::string, Existence> existence_;
};

}  // namespace quipu::sim
