#include "tests/chaos/nemesis.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace quipu::chaos {

std::string Nemesis::why_not(const Testbed& testbed) const {
  switch (needs) {
    case Needs::detour:
      return testbed.network.why_undisturbed();
    case Needs::loop:
      return testbed.why_no_loop;
    case Needs::tls:
      return testbed.tls ? "" : "the nodes have no TLS in this run";
    default:
      return "";
  }
}

std::vector<Nemesis> all_nemeses() {
  std::vector<Nemesis> all = process_nemeses();
  std::ranges::copy(network_nemeses(), std::back_inserter(all));
  std::ranges::copy(disk_nemeses(), std::back_inserter(all));
  return all;
}

std::size_t any_node(Random& random) { return random.below(kNodes); }

std::vector<std::size_t> nodes_in_random_order(Random& random) {
  std::vector<std::size_t> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
  return nodes;
}

std::chrono::milliseconds between(Random& random, std::chrono::milliseconds least,
                                  std::chrono::milliseconds most) {
  const auto room = std::max<std::int64_t>((most - least).count(), 0);
  return least + std::chrono::milliseconds(random.below(static_cast<std::uint64_t>(room) + 1));
}

std::string names(const std::vector<std::size_t>& nodes) {
  std::string text;
  for (const std::size_t node : nodes) text += (text.empty() ? "" : " ") + name_of(node);
  return text;
}

}  // namespace quipu::chaos
