// nemesis.h: the faults that a run can inject. A table per family, with a row for each kind. A
// kind makes strikes, with what the seed has decided: which nodes, how long, how bad.
//
//   begin ── lasts ──▶ end ── the operator recovers all nodes ──▶ all are ready, verify
//
// No strike takes a second disk before the first is filled again: strikes that cost a disk are
// alone, and the next one comes when all nodes are ready.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/random.h"
#include "tests/chaos/cluster.h"
#include "tests/chaos/disk.h"
#include "tests/chaos/history.h"
#include "tests/chaos/network.h"

namespace quipu::chaos {

struct Testbed {
  Network& network;
  std::vector<Disk>& disks;
  Cluster& cluster;
  std::string why_no_loop;  // empty: the disks are filesystems of their own
  bool tls;                 // the nodes' ports are protected
  // What a short run can afford.
  std::chrono::milliseconds longest{15'000};
  std::chrono::milliseconds longest_pause{60'000};
  std::chrono::minutes clock_off{10};
};

struct Strike {
  std::string what;  // for people: the nodes, and how
  std::chrono::milliseconds lasts{};
  std::function<void()> begin;
  std::function<void()> end = [] {};
  std::function<void()> verify = [] {};  // when all are ready again
};

struct Nemesis {
  std::string_view name;
  enum class Family : std::uint8_t { process, network, disk } family;
  Loss loss = Loss::nothing;
  enum class Needs : std::uint8_t { nothing, detour, loop, tls } needs = Needs::nothing;
  std::string_view about;
  Strike (*make)(Testbed& testbed, Random& random);

  // Empty: this machine and this run allow it.
  [[nodiscard]] std::string why_not(const Testbed& testbed) const;
};

[[nodiscard]] std::vector<Nemesis> process_nemeses();
[[nodiscard]] std::vector<Nemesis> network_nemeses();
[[nodiscard]] std::vector<Nemesis> disk_nemeses();
[[nodiscard]] std::vector<Nemesis> all_nemeses();

// ---- what the seed decides ----

[[nodiscard]] std::size_t any_node(Random& random);
[[nodiscard]] std::vector<std::size_t> nodes_in_random_order(Random& random);
// At least `least`, at most `most`, or `least` if that is more.
[[nodiscard]] std::chrono::milliseconds between(Random& random, std::chrono::milliseconds least,
                                                std::chrono::milliseconds most);
// "n2 n5"
[[nodiscard]] std::string names(const std::vector<std::size_t>& nodes);

}  // namespace quipu::chaos
