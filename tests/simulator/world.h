// world.h: a whole cluster and its clients in one thread of virtual time, made
// and tormented according to one seed.
//
//   seed ─▶ options ─▶ founding ─▶ load under faults ─▶ healing ─▶ everything agrees?
//
// The same seed gives the same run, bit for bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/client/core.h"
#include "tests/simulator/ledger.h"
#include "tests/simulator/node.h"

namespace quipu::sim {

// Drawn from the seed; each fault is off in about half of the runs.
struct WorldOptions {
  std::uint64_t seed = 0;
  std::size_t nodes = 3;
  std::size_t clients = 3;
  bool crashes = true;
  bool cuts = true;
  bool breaks = true;          // connections break by themselves
  bool loses_disk = false;     // one node's disk is wiped once, and rebuilt
  bool restores_copy = false;  // one node comes back from an older copy of its disk
  bool small_outbox = false;
  bool small_checkpoint = false;
  bool shards = false;  // counters are spread while they are written
  Duration torment{std::chrono::seconds(20)};

  [[nodiscard]] static WorldOptions draw(std::uint64_t seed);
  [[nodiscard]] std::string describe() const;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();

  // Empty, or the invariant that broke and how.
  [[nodiscard]] std::string run();
  // A short account, for people.
  [[nodiscard]] std::string summary() const;
  // Changes with every answer that any client got.
  [[nodiscard]] std::uint64_t trace_hash() const { return trace_; }

 private:
  struct SimClient;

  void connect(SimClient& client, ConnectionId connection, const std::string& address);
  void perform(SimClient& client, ClientEffects& effects);
  void arm(SimClient& client);
  void work(SimClient& client);
  void complete(SimClient& client, CallId call, const ClientAnswer& answer);
  void torment();
  void crash_and_restart(std::size_t node);
  void cut_off(std::size_t node);
  void lose_disk(std::size_t node);
  void restore_copy(std::size_t node);
  [[nodiscard]] bool everybody_ready() const;
  void heal();
  void check_converged();
  void check_bounds();
  void fail(std::string what);

  WorldOptions options_;
  Random random_;
  Timeline time_;
  Network network_;
  ClusterConfig config_;
  NodeSettings settings_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  Ledger ledger_;
  bool tormenting_ = false;
  bool disk_lost_ = false;
  std::optional<std::pair<std::size_t, MemoryDisk>> copy_;
  std::string failure_;
  std::uint64_t trace_ = 0;
  std::uint64_t crashes_ = 0, cuts_ = 0;
};

// Runs the seed. Empty, or a report: the seed, its options, what broke, and the
// command that replays it.
[[nodiscard]] std::string run_seed(std::uint64_t seed);

}  // namespace quipu::sim
