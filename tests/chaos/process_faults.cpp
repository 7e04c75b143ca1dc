// process_faults.cpp: processes that die, stand still, and are stopped in turn.
#include "tests/chaos/nemesis.h"

namespace quipu::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Strike kill_one(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {
      .what = name_of(node) + " by kill -9",
      .lasts = between(random, milliseconds(300), std::min(testbed.longest, milliseconds(6000))),
      .begin = [&testbed, node] { testbed.cluster.kill(node); },
      .end = [&testbed, node] { testbed.cluster.start(node); }};
}

Strike kill_all(Testbed& testbed, Random& random) {
  return {.what = "all nodes by kill -9",
          .lasts = between(random, milliseconds(100), milliseconds(2000)),
          .begin =
              [&testbed, order = nodes_in_random_order(random)] {
                for (const std::size_t node : order) testbed.cluster.kill(node);
              },
          .end =
              [&testbed, order = nodes_in_random_order(random)] {
                for (const std::size_t node : order) testbed.cluster.start(node);
              }};
}

Strike pause(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  return {.what = name_of(node) + " by SIGSTOP",
          .lasts = between(random, milliseconds(1500), testbed.longest_pause),
          .begin = [&testbed, node] { testbed.cluster.pause(node); },
          .end = [&testbed, node] { testbed.cluster.resume(node); }};
}

// Each is ready again before the next is stopped, as an upgrade would do it.
Strike rolling_restart(Testbed& testbed, Random& random) {
  return {.what = "every node in turn, by SIGTERM",
          .lasts = {},
          .begin = [&testbed, order = nodes_in_random_order(random)] {
            for (const std::size_t node : order) {
              testbed.cluster.stop(node);
              testbed.cluster.start(node);
              const std::string wrong = testbed.cluster.nurse(seconds(60));
              if (!wrong.empty()) testbed.cluster.find(wrong);
            }
          }};
}

}  // namespace

std::vector<Nemesis> process_nemeses() {
  using enum Nemesis::Family;
  return {
      {"kill-one", process, Loss::memory, {}, "kill -9 of one node", kill_one},
      {"kill-all", process, Loss::memory, {}, "kill -9 of all nodes at once", kill_all},
      {"pause", process, Loss::nothing, {}, "SIGSTOP of one node, up to 60 s", pause},
      {"rolling-restart",
       process,
       Loss::nothing,
       {},
       "SIGTERM and start, one after the other",
       rolling_restart},
  };
}

}  // namespace quipu::chaos
