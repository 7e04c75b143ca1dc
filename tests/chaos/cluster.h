// cluster.h: five quipud processes and their operator.
//
//   down ──start──▶ up ──kill, end──▶ down
//                    └── ended by itself: expected by a fault, or a finding
//
// The operator only does what a node's own messages ask for: starts it again, or starts it with
// --rebuild.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/chaos/disk.h"
#include "tests/chaos/network.h"
#include "tests/chaos/strangers.h"

namespace quipu::chaos {

struct Programs {
  std::string quipud;
  std::string cli;
  std::string faulty_machine;  // the library to preload
  bool lying_syncs = false;    // a planted bug
};

class Cluster {
 public:
  struct Options {
    std::size_t reactors = 1;  // of each node
    ProtectionFiles protection{};
  };
  // The arguments must outlive it. Starts nothing yet.
  Cluster(Programs programs, const Options& options, std::filesystem::path directory,
          Network& network, std::vector<Disk>& disks);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  enum class Store : std::uint8_t { keep, rebuild };
  void start(std::size_t node, Store store = Store::keep);
  // kill -9; returns when it is gone. Nothing, if it is down.
  void kill(std::size_t node);
  // SIGTERM; returns when it has ended.
  void stop(std::size_t node);
  // SIGSTOP. Returns when the process stands still, except in system calls under way.
  void pause(std::size_t node);
  void resume(std::size_t node);
  // Each sync fails, while `broken`.
  void break_sync(std::size_t node) const;
  void mend_sync(std::size_t node) const;
  // Sets its machine's wall clock ahead of the true time, or behind it.
  void set_clock(std::size_t node, std::chrono::seconds ahead) const;
  // Whether it says within the time that it trusts its clock, or does not, as expected.
  [[nodiscard]] bool trusts_its_clock(std::size_t node, bool expected,
                                      std::chrono::seconds patience) const;
  // Until it is started again, it may end by itself, though not by a crash.
  void expect_end(std::size_t node) { nodes_[node].may_end = true; }
  // Until it is ready again, its store may be damaged, missing or refused by the peers.
  void expect_lost_disk(std::size_t node) { nodes_[node].disk_lost = true; }
  // Whether it ended by itself within the time.
  [[nodiscard]] bool ends(std::size_t node, std::chrono::milliseconds patience);

  // Starts nodes that are down, with --rebuild if they ask for it, until every node says that it
  // is ready. Returns what is wrong if that takes too long. Empty: nothing is wrong.
  [[nodiscard]] std::string nurse(std::chrono::seconds patience);

  // Events that no fault explains: ends, with the node's last lines, and observations of faults.
  void find(std::string finding) { findings_.push_back(std::move(finding)); }
  [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
  [[nodiscard]] int rebuilds() const { return rebuilds_; }
  [[nodiscard]] std::string client_address(std::size_t node) const {
    return network_.dialed(node).client;
  }
  // What it has logged since it was started.
  [[nodiscard]] std::string words(std::size_t node) const;

 private:
  struct Node {
    pid_t pid = 0;  // 0: down
    bool may_end = false;
    bool disk_lost = false;
    bool paused = false;
    std::size_t log_begin = 0;  // of its current life, or its last
  };
  void write_settings(const Options& options) const;
  [[nodiscard]] std::filesystem::path log(std::size_t node) const;
  [[nodiscard]] std::filesystem::path settings(std::size_t node) const;
  [[nodiscard]] std::filesystem::path sync_switch(std::size_t node) const;
  [[nodiscard]] std::filesystem::path clock(std::size_t node) const;
  [[nodiscard]] std::string last_words(std::size_t node) const;
  void reap();
  // The operator's reaction to a node that is down, or asks for something.
  void look_after(std::size_t node, const std::string& state);
  void remove_broken_stores() const;
  // The state of each node, as it reports it. Empty: it cannot be asked.
  [[nodiscard]] std::array<std::string, kNodes> states() const;
  [[nodiscard]] nlohmann::json ask_for_members(std::size_t asked) const;

  Programs programs_;
  std::filesystem::path directory_;
  Network& network_;
  std::vector<Disk>& disks_;
  std::array<Node, kNodes> nodes_;
  std::vector<std::string> findings_;
  int rebuilds_ = 0;
};

[[nodiscard]] inline std::string name_of(std::size_t node) {
  return "n" + std::to_string(node + 1);
}

}  // namespace quipu::chaos
