// world.h: a whole cluster and its clients in one thread of virtual time, built and disturbed
// as one seed decides.
//
//   seed ─▶ options ─▶ founding ─▶ load under faults ─▶ healing ─▶ everything agrees?
//
// The same options give the same run, bit for bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/elements.h"
#include "tests/simulator/ends.h"
#include "tests/simulator/homes.h"
#include "tests/simulator/items.h"
#include "tests/simulator/library_client.h"
#include "tests/simulator/namespaces.h"
#include "tests/simulator/nemesis.h"
#include "tests/simulator/node.h"
#include "tests/simulator/transactions.h"
#include "tests/simulator/windows.h"
#include "tests/simulator/wire_client.h"
#include "tests/simulator/workload.h"

namespace quipu::sim {

class Aftermath;

class World {
 public:
  World(const Options& options, Trace& trace);
  World(const World&) = delete;

  // The trace has what broke.
  void run();
  [[nodiscard]] Duration lasted() const { return time_.now() - Timeline::kStart; }

 private:
  friend class Aftermath;

  void run_whole();
  void run_for(Duration length);
  bool wait_for(Duration at_most, Duration step, const std::function<bool()>& condition);
  [[nodiscard]] bool everybody_whole() const;
  void sample();
  void check_merge();
  void check_merge(const std::string& key, ShardIndex shard);
  [[nodiscard]] std::vector<std::string> keys_of_elements() const;
  enum class Which { all, recent_and_some };  // of the keys
  void check_majorities(Which which);
  void check_left(const SimNode& closed);
  void check_bounds();
  void sample_reads();
  void check_local_reads();
  void check_derived();
  void check_counts();
  struct Count {
    SimNode* node = nullptr;  // requested, and not answered yet
    std::size_t turn = 0;
    struct Certain {
      std::string key;
      Oracle::Votes votes;
    };
    std::vector<Certain> certain;  // counters that existed when it was
    std::string listed;            // the one whose place it lists; empty: a key count
    std::uint32_t from = 0;        // that place
    Instant until{};               // the longest wait for it
  };
  [[nodiscard]] bool is_certain(const Count::Certain& counter) const;
  void check_told(const Answer& told);
  void fail(Invariant invariant, std::string what) {
    trace_.fail(time_.now(), invariant, std::move(what));
  }

  static constexpr Duration kStep = std::chrono::milliseconds(200);

  const Options options_;
  Trace& trace_;
  Random random_;
  Random body_draws_;  // for what is checked of bodies
  Timeline time_;
  Network network_;
  ClusterConfig config_;
  Oracle oracle_;
  Ledger ledger_;
  Workload workload_;
  Shared shared_;
  std::vector<std::unique_ptr<SimNode>> owned_;
  std::vector<SimNode*> nodes_;
  std::vector<std::unique_ptr<LibraryClient>> clients_;
  std::vector<std::unique_ptr<WireClient>> wire_clients_;
  std::unique_ptr<Nemesis> nemesis_;
  std::optional<NamespaceClients> namespaces_;
  std::optional<EndsClients> ends_;
  std::optional<WindowsClients> windows_;
  std::optional<TransactionClients> transactions_;
  std::optional<HomeClients> homes_;
  std::optional<ElementClients> elements_;
  std::optional<ItemClients> items_;
  bool sampling_ = false;
  Count count_;
  std::size_t turn_ = 0;  // the part of the old keys that is checked
  struct Look {
    Instant at{};
    Oracle::Votes votes;
  };
  std::vector<Look> looks_;  // at each key's majorities, the last
};

struct Report {
  Options options;
  Failure failure;
  std::uint64_t hash = 0;
  Duration lasted{};  // virtual
  Tally faults, operations;
  std::vector<std::string> last_events;
};
// Runs it. If it fails, runs it again for the story.
[[nodiscard]] Report simulate(const Options& options);
// The text about a failure: seed, options, what broke, the last events, and the command that
// repeats it.
[[nodiscard]] std::string explain(const Report& report);

}  // namespace quipu::sim
