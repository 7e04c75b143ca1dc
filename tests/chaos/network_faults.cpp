// network_faults.cpp: partitions; slow and lossy connections; strangers.
#include <memory>
#include <utility>

#include "tests/chaos/nemesis.h"
#include "tests/chaos/strangers.h"

namespace quipu::chaos {
namespace {

using std::chrono::milliseconds;
using Cut = std::pair<std::size_t, std::size_t>;  // from, to

// A silent link is given up after 3 s, so some last longer.
milliseconds any_duration(Testbed& testbed, Random& random) {
  return between(random, milliseconds(2000), testbed.longest);
}

Strike partition(Testbed& testbed, Random& random, std::string what, std::vector<Cut> cuts) {
  return {.what = std::move(what),
          .lasts = any_duration(testbed, random),
          .begin =
              [&testbed, cuts = std::move(cuts)] {
                for (const auto& [from, to] : cuts) testbed.network.cut(from, to);
              },
          .end = [&testbed] { testbed.network.heal(); }};
}

std::vector<Cut> apart(const std::vector<std::size_t>& left,
                       const std::vector<std::size_t>& right) {
  std::vector<Cut> cuts;
  for (const std::size_t a : left) {
    for (const std::size_t b : right) {
      cuts.emplace_back(a, b);
      cuts.emplace_back(b, a);
    }
  }
  return cuts;
}

Strike half(Testbed& testbed, Random& random) {
  const std::vector<std::size_t> order = nodes_in_random_order(random);
  const std::vector<std::size_t> two(order.begin(), order.begin() + 2),
      three(order.begin() + 2, order.end());
  return partition(testbed, random, names(two) + " | " + names(three), apart(two, three));
}

Strike isolate(Testbed& testbed, Random& random) {
  const std::vector<std::size_t> order = nodes_in_random_order(random);
  const std::vector<std::size_t> one(order.begin(), order.begin() + 1),
      rest(order.begin() + 1, order.end());
  return partition(testbed, random, names(one) + " from all others", apart(one, rest));
}

// Each hears its two neighbours only.
Strike ring(Testbed& testbed, Random& random) {
  const std::vector<std::size_t> order = nodes_in_random_order(random);
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t step : {2, 3}) {
      cuts.emplace_back(order[i], order[(i + step) % order.size()]);
    }
  }
  return partition(testbed, random, "each hears its neighbours only, in the ring " + names(order),
                   std::move(cuts));
}

Strike one_way(Testbed& testbed, Random& random) {
  const std::vector<std::size_t> order = nodes_in_random_order(random);
  const std::size_t deaf = order[0];
  std::vector<Cut> cuts;
  const std::size_t count = 1 + random.below(kNodes - 1);
  const std::vector<std::size_t> unheard(order.begin() + 1,
                                         order.begin() + 1 + static_cast<std::ptrdiff_t>(count));
  for (const std::size_t from : unheard) cuts.emplace_back(from, deaf);
  return partition(testbed, random, name_of(deaf) + " does not hear " + names(unheard),
                   std::move(cuts));
}

Strike disturb(Testbed& testbed, Random& random, std::string what,
               Network::Disturbance disturbance) {
  return {.what = std::move(what),
          .lasts = any_duration(testbed, random),
          .begin = [&testbed, disturbance] { testbed.network.disturb(disturbance); },
          .end = [&testbed] { testbed.network.calm(); }};
}

Strike delay(Testbed& testbed, Random& random) {
  const int ms = 10 + static_cast<int>(random.below(190));
  return disturb(testbed, random,
                 "everything by " + std::to_string(ms) + " to " + std::to_string(2 * ms) + " ms",
                 {.delay_ms = ms});
}

Strike lose_answers(Testbed& testbed, Random& random) {
  const int lost = 2 + static_cast<int>(random.below(20));
  return disturb(testbed, random, std::to_string(lost) + " of 100 answers, with their connections",
                 {.lost_in_100 = lost});
}

// They change nothing, so the checks of all operations are those that the cluster goes on.
Strike strangers(Testbed& testbed, Random& random) {
  const auto dialing = std::make_shared<std::unique_ptr<Strangers>>();
  const std::vector<std::size_t> order = nodes_in_random_order(random);
  return {.what = "with another secret, or a certificate of another CA, dial " + names(order),
          .lasts = any_duration(testbed, random),
          .begin =
              [&testbed, dialing, order] {
                std::vector<std::string> ports;
                for (const std::size_t node : order)
                  ports.push_back(testbed.network.dialed(node).peer);
                *dialing = std::make_unique<Strangers>(std::move(ports));
              },
          .end =
              [&testbed, dialing] {
                (*dialing)->stop();
                for (const std::string& port : (*dialing)->accepted())
                  testbed.cluster.find("the peer port " + port + " accepted a stranger");
                if ((*dialing)->refused() == 0)
                  testbed.cluster.find("no peer port refused a stranger");
              }};
}

}  // namespace

std::vector<Nemesis> network_nemeses() {
  using enum Nemesis::Family;
  using enum Nemesis::Needs;
  constexpr Loss kNone = Loss::nothing;
  return {
      {"partition-half", network, kNone, {}, "two nodes and three do not hear each other", half},
      {"partition-ring", network, kNone, {}, "each node hears two others", ring},
      {"partition-one-way", network, kNone, {}, "one node is deaf to some, but is heard", one_way},
      {"isolate", network, kNone, {}, "one node and all others do not hear each other", isolate},
      {"delay", network, kNone, detour, "all connections are slow", delay},
      {"drop-replies", network, kNone, detour, "answers are lost, and connections with them",
       lose_answers},
      {"strangers", network, kNone, tls, "programs without the secret dial the peer ports",
       strangers},
  };
}

}  // namespace quipu::chaos
