// process_faults.cpp: processes that die, stand still, are stopped in turn, or have a wrong clock.
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

// Nothing else is wrong meanwhile, so the node must notice it by itself, and trust its clock again.
Strike wrong_clock(Testbed& testbed, Random& random) {
  const std::size_t node = any_node(random);
  const bool ahead = random.below(2) == 0;
  const seconds off = ahead ? testbed.clock_off : -testbed.clock_off;
  const auto expect = [&testbed, node](bool trusted) {
    if (!testbed.cluster.trusts_its_clock(node, trusted, seconds(15))) {
      testbed.cluster.find(name_of(node) + (trusted ? " does not trust its clock, which is right"
                                                    : " trusts its clock, which is wrong"));
    }
  };
  return {.what = "of " + name_of(node) + ", " + std::to_string(testbed.clock_off.count()) +
                  " minutes " + (ahead ? "ahead" : "behind"),
          .lasts = between(random, milliseconds(2000), testbed.longest),
          .begin = [&testbed, node, off] { testbed.cluster.set_clock(node, off); },
          .end =
              [&testbed, node, expect] {
                expect(false);
                testbed.cluster.set_clock(node, {});
              },
          .verify = [expect] { expect(true); }};
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
      {"wrong-clock",
       process,
       Loss::nothing,
       {},
       "one node's wall clock, by 10 minutes or more",
       wrong_clock},
  };
}

}  // namespace quipu::chaos
